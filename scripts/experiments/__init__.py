"""Experiments with real worker processes; `scripts/live.py` runs them."""
