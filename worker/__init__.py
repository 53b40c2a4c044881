"""The worker daemon: runs shell commands on one machine, measures them, keeps results until acknowledged."""
