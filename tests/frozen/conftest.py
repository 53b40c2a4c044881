"""Masters that can be killed."""

from service_fixtures import killable

__all__ = ["killable"]
