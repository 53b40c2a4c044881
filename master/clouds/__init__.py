"""The clouds file: which machines can be had, where, at what price, and how many."""
