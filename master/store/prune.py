"""Forgets a bag, in pieces small enough to fit between two commits."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.master.store import database
from bats.master.store.lock import FolderLock
from bats.master.store.repair import soundness
from bats.master.store.writing import mark

_PIECE: Final = 5000  # rows, pages: some 20 ms
_LAST: Final = f"ORDER BY rowid DESC LIMIT {_PIECE}"
_BY_KEY: Final = ("results", "attempts", "journal", "additions")
_BY_BAG: Final = ("decisions", "machines", "blobs")


def begin(db: sqlite3.Connection, bag: BagId) -> list[str]:
    """Returns the blobs that only this bag holds. Raises UsageError if it has not ended."""
    found = db.execute("SELECT ended FROM bags WHERE id = ?", (bag,)).fetchone()
    if found is None:
        raise UsageError(f"There is no bag {bag} in the store.")
    if found[0] is None:
        raise UsageError(f"Bag {bag} has not ended; cancel it before pruning it.")
    only_here = (
        "SELECT sha256 FROM blobs WHERE bag = ? EXCEPT SELECT sha256 FROM blobs WHERE bag <> ?"
    )
    return [sha256 for (sha256,) in db.execute(only_here, (bag, bag))]


def some(db: sqlite3.Connection, bag: BagId) -> bool:
    """Delete a piece; whether there is more to do. The bag's own row goes last."""
    db.execute(database.ADDITIONS)
    for table in _BY_KEY:  # from the end: what an interrupted pruning leaves has no gaps
        piece = f"SELECT rowid FROM {table} WHERE id BETWEEN ? AND ? {_LAST}"
        query = f"DELETE FROM {table} WHERE rowid IN ({piece})"
        if db.execute(query, database.keys_of(bag)).rowcount:
            return True
    if db.execute("SELECT count(*) FROM bags WHERE id = ?", (bag,)).fetchone()[0]:
        db.execute("BEGIN IMMEDIATE")
        for table in _BY_BAG:
            db.execute(f"DELETE FROM {table} WHERE bag = ?", (bag,))
        db.execute("DELETE FROM bags WHERE id = ?", (bag,))
        db.execute("COMMIT")
        return True
    db.execute(f"PRAGMA incremental_vacuum({_PIECE})").fetchall()
    return bool(db.execute("PRAGMA freelist_count").fetchone()[0])


def prune(folder: Path, bags: Iterable[BagId], release: str) -> list[str]:
    """Forget these bags and give their space back, without a master; returns blobs nobody holds."""
    blobs = []
    with FolderLock(folder):
        db = soundness.open_checked(folder, release)
        try:
            for bag in bags:
                blobs += begin(db, bag)
                (folder / mark.FILE).unlink(missing_ok=True)
                while some(db, bag):
                    pass
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
    return blobs
