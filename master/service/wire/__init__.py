"""The socket and what goes through it: connections, keys, messages."""
