"""Pools while the master runs: their journals, machines and scalers."""
