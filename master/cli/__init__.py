"""The command line: what people type and read."""
