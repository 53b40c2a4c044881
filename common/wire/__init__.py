"""Messages on their way: codec, keys, sockets, files in pieces."""
