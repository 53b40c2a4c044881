"""Running tasks: slots, processes, what they print."""
