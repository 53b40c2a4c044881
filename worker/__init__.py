"""The worker daemon: runs a machine's tasks, measures them, keeps results until acknowledged."""
