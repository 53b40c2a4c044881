"""Rows into tables, many with one statement."""

import math
import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

_SIZES: Final = (64, 8, 1)
_GREATEST: Final = (1 << 63) - 1


class Insert:
    """Inserts many rows with few statements.

    SQLite lets go of Python's lock at every statement, and a busy event loop may keep the writer
    waiting 5 ms for its return.
    """

    def __init__(self, into: str, columns: int, conflict: str = "") -> None:
        row = f"({', '.join('?' * columns)})"
        self._by_size = {
            size: f"INSERT {into} VALUES {', '.join([row] * size)} {conflict}" for size in _SIZES
        }

    def __call__(self, db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Returns how many rows there are now that were not there before."""
        start = changed = 0
        for size, sql in self._by_size.items():
            while len(rows) - start >= size:
                values = tuple(chain.from_iterable(rows[start : start + size]))
                try:
                    changed += db.execute(sql, values).rowcount
                except (OverflowError, UnicodeEncodeError):  # who knows what a provider says
                    changed += db.execute(sql, tuple(map(tame, values))).rowcount
                start += size
        return changed


def tame(value: Any) -> Any:
    """A value that SQLite can keep: no number too large, no half character, no infinity."""
    if isinstance(value, int):
        return max(-_GREATEST, min(value, _GREATEST))
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    return value
