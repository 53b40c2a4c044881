"""What `scripts/bench.py` measures, a module each."""
