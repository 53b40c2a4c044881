"""Scaling: how many machines of which kind a pool should have, asked again and again."""
