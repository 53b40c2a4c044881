"""Scalers with money for an interval and several kinds of machines (Ilyushkin, thesis §5.3).

Each serves one user, whose machines run nobody else's tasks.
"""
