"""The service's master and client."""

from service_fixtures import client, master

__all__ = ["client", "master"]
