"""Bags at work: their turns, their engine, what it wants done."""
