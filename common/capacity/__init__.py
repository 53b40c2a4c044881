"""The capacity of machines: what a task takes of one, and how many fit."""
