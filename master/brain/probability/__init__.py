"""Random variables, and what becomes of them in a graph of tasks."""
