"""What is left of a damaged store, and whether a store is sound."""
