"""Masters that can be killed."""

from helpers.service import killable

__all__ = ["killable"]
