"""Masters for the tests: in this process, or in one that can be killed."""

from helpers.service import client, killable, master
from helpers.workers import by_hand

__all__ = ["by_hand", "client", "killable", "master"]
