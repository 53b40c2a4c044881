"""Measurements of `scripts/bench.py`, a module each."""
