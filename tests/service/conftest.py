"""Masters for the tests: in this process, or in one that can be killed."""

from helpers.service import client, killable, master

__all__ = ["client", "killable", "master"]
