"""The high-water mark: how far the journal had been committed, noted beside the database.

SQLite takes a shortened or deleted write-ahead log for the log of a shorter life, without a word.
The mark tells: it is written after each commit, so it is never ahead of what was on disk.
"""

import contextlib
import os
import sqlite3
import struct
import zlib
from pathlib import Path
from typing import Final

from bats.master.store import journal_chunks
from bats.master.store.database import SHIFT, key

FILE: Final = "mark"
_RECORD: Final = struct.Struct("<qI")


class Mark:
    """Not synced: it need not survive a power cut, for it may be behind."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT, 0o600)

    def note(self, at: int) -> None:
        """The journal has been committed up to, not including, this key."""
        with contextlib.suppress(OSError):  # a full disk: the mark stays behind, no harm
            os.pwrite(self._descriptor, _RECORD.pack(at, _check(at)), 0)

    def clear(self) -> None:
        os.ftruncate(self._descriptor, 0)

    def close(self) -> None:
        os.close(self._descriptor)


def lost(db: sqlite3.Connection, folder: Path) -> str:
    """A sentence if the database lacks what the mark says was committed, else empty."""
    try:
        record = (folder / FILE).read_bytes()
        at, check = _RECORD.unpack(record)
    except (FileNotFoundError, struct.error):
        return ""
    if check != _check(at):  # torn by a power cut: tells nothing
        return ""
    bag = at >> SHIFT
    missing = at - key(bag, 0) - journal_chunks.length(db, bag)
    if missing <= 0:
        return ""
    return (
        f"the last {missing} events of bag {bag} were committed and are gone: "
        "the write-ahead log (store.db-wal) was lost or cut"
    )


def _check(at: int) -> int:
    return zlib.crc32(at.to_bytes(8, "little"))
