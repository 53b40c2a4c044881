"""Reads what can be read of a damaged file."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bats.common.errors import StoreDamagedError
from bats.master.store import database


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """A reading connection to a store, be it cut: SQLite opens that only if its length is right."""
    try:
        db = database.open_reading(folder)
    except StoreDamagedError:
        length = _length_in_header(folder / database.FILE)
        if length <= (folder / database.FILE).stat().st_size:
            raise
        with tempfile.TemporaryDirectory(prefix="bats-") as name:
            copy = Path(name)
            for path in folder.glob(f"{database.FILE}*"):
                shutil.copy(path, copy)
            with (copy / database.FILE).open("ab") as file:
                file.truncate(length)  # with zeros, which are no pages: they will be noticed
            with closing(database.open_reading(copy)) as db:
                db.text_factory = _decode
                yield db
        return
    with closing(db):
        db.text_factory = _decode
        yield db


def rows_from_both_ends(
    db: sqlite3.Connection, columns: str, table: str, low: int = 0, high: int = (1 << 63) - 1
) -> Iterator[tuple[Any, ...]]:
    """All rows of a table that can be reached; the first column is to be the row's key.

    Where a page is damaged in the middle, those behind it are reached from the end.
    """
    query = f"SELECT {columns} FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    try:
        for row in db.execute(query, (low, high)):
            low = row[0] + 1
            yield row
    except sqlite3.DatabaseError:
        try:
            yield from db.execute(f"{query} DESC", (low, high))
        except sqlite3.DatabaseError:
            return


def _decode(text: bytes) -> str:
    """Decode without raising: the checksum tells if the row is whole."""
    return text.decode(errors="replace")


def _length_in_header(path: Path) -> int:
    with path.open("rb") as file:
        header = file.read(32)
    return int.from_bytes(header[16:18]) * int.from_bytes(header[28:32])
