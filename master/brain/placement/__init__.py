"""Placement: which ready task of which workflow goes to which free place of a pool."""
