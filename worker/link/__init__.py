"""The way to the master: the connection, and what must reach it."""
