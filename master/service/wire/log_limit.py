"""Keeps a flood of bad peers from becoming a flood of log lines."""

import time
from typing import Final

_SECONDS: Final = 1.0
_MOST_KEYS: Final = 10_000


class LogLimit:
    """A limit of one line per key and second; the caller counts what goes unsaid."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._said: dict[object, float] = {}

    def may_say(self, key: object) -> bool:
        now = time.monotonic()
        if now - self._said.get(key, -self._seconds) < self._seconds:
            return False
        if len(self._said) >= _MOST_KEYS:
            self._said.clear()
        self._said[key] = now
        return True
