"""How the store writes: batches, statements, the mark of what is durable."""
