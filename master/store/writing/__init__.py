"""Writing to the store: batches, statements, the mark of what is durable."""
