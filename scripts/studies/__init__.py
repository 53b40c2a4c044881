"""Studies that `reproduce.py` runs: one module per study."""
