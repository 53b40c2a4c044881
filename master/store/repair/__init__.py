"""Damage to a store: how it is found, and how what is left is saved."""
