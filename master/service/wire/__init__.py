"""What comes from the socket and goes to it: connections, keys, messages."""
