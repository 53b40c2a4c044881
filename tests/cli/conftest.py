"""A user for each test."""

from helpers.user import user

__all__ = ["user"]
