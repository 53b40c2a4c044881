"""Rules about machines: hired, paid, shared and let go."""
