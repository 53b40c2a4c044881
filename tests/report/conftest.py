"""The service's master and client."""

from helpers.service import client, master

__all__ = ["client", "master"]
