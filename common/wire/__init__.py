"""How messages look and travel: codec, keys, sockets, files in pieces."""
