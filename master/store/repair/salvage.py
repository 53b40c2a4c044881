"""Copies what can be read of a damaged store into a fresh one."""

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from bats.common.errors import StoreDamagedError, UsageError
from bats.master.brain.protocol.numbering import FIRST_POOL
from bats.master.store import blobs, database, journal_chunks, result_rows
from bats.master.store.repair import remnants
from bats.master.store.repair.soundness import Findings, inspect

_TABLES: Final = ("bags", "results", "attempts", "machines", "decisions", "additions")
_CHECKED: Final = ("results", "attempts")


def salvage(damaged: Path, fresh: Path) -> Findings:
    """Fill the folder `fresh`, which must not hold a store; `damaged` is only read.

    Of each bag's journal the part before the first damage is copied: no run can be rebuilt from
    events behind a gap. Returns what the fresh store holds.
    """
    if (fresh / database.FILE).exists():
        raise UsageError(f"There is a store in {fresh} already; name a folder without one.")
    with remnants.opened(damaged) as old:
        fresh.mkdir(mode=0o700, parents=True, exist_ok=True)
        database.create(fresh, "salvaged")
        with closing(database.open_writing(fresh)) as new:
            new.execute("BEGIN IMMEDIATE")
            _copy(old, new)
            new.execute("COMMIT")
    if (damaged / blobs.FOLDER).is_dir():
        shutil.copytree(damaged / blobs.FOLDER, fresh / blobs.FOLDER, dirs_exist_ok=True)
    return inspect(fresh)


def _copy(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    # The master's name marks its machines at every provider: it must stay the same.
    meta = old.execute("SELECT value FROM meta WHERE key = 'master'").fetchone()
    if meta:
        new.execute("UPDATE meta SET value = ? WHERE key = 'master'", meta)
    for table in _TABLES:
        for _, *row in remnants.rows_from_both_ends(old, "rowid, *", table):
            if table not in _CHECKED or result_rows.intact(tuple(row)):
                _insert(new, table, row)
    bags = [bag for (bag,) in new.execute("SELECT id FROM bags").fetchall()]
    with contextlib.suppress(sqlite3.DatabaseError):
        bags += journal_chunks.owners(old, FIRST_POOL)
    for bag in bags:
        events = chain.from_iterable(_intact(old, bag))
        first = journal_chunks.beginning(old, bag)
        journal_chunks.forget_before(new, [(bag, first)] if first else [])
        while flat := list(islice(events, 2 * journal_chunks.CHUNK_EVENTS)):
            for chunk in journal_chunks.chunks(bag, first, flat):
                _insert(new, "journal", chunk)
            first += len(flat) // 2


def _intact(db: sqlite3.Connection, bag: int) -> Iterator[tuple[float, bytes]]:
    with contextlib.suppress(StoreDamagedError):
        for _, time, event in journal_chunks.read(db, bag):
            yield time, event


def _insert(db: sqlite3.Connection, table: str, row: Sequence[Any]) -> None:
    db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
