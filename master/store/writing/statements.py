"""Statements for each kind of row: a function takes many rows, inside a transaction."""

import sqlite3
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

from bats.common.messages import BagId, Outcome
from bats.master.store.journal import Chunk
from bats.master.store.record import COLUMNS, bag_checksum, flat, tame
from bats.master.store.rows import BagRow, DecisionRow, Finished, MachineRow
from bats.master.store.schema import key

Step = Callable[[sqlite3.Connection, list[Any]], None]

_SIZES: Final = (64, 8, 1)


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


_journal = Insert("OR REPLACE INTO journal", len(Chunk._fields))
_results = Insert("INTO results", len(COLUMNS), "ON CONFLICT (id) DO NOTHING")
_attempts = Insert("INTO attempts", len(COLUMNS), "ON CONFLICT (id, attempt) DO NOTHING")
_held = Insert("OR IGNORE INTO blobs", 2)
_bags = Insert("INTO bags", len(BagRow._fields) + 1)
_decisions = Insert("INTO decisions (bag, time, words)", len(DecisionRow._fields))
_machines = Insert(
    "INTO machines",
    len(MachineRow._fields),
    "ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in MachineRow._fields[1:]),
)


def write_chunks(db: sqlite3.Connection, rows: list[Chunk]) -> None:
    _journal(db, rows)


def write_results(db: sqlite3.Connection, rows: list[Finished]) -> None:
    """Record the first result of each task; count later ones, and keep those that failed."""
    by_bag: dict[int, list[Finished]] = {}
    for row in rows:
        by_bag.setdefault(row.result.bag, []).append(row)
    for bag, group in by_bag.items():
        copies = len(group) - _results(db, [flat(row) for row in group])
        if copies:
            db.execute("UPDATE bags SET duplicates = duplicates + ? WHERE id = ?", (copies, bag))
            write_attempts(db, [row for row in group if _failed_beside_the_result(db, row)])
    _hold_outputs(db, rows)


def write_attempts(db: sqlite3.Connection, rows: list[Finished]) -> None:
    _attempts(db, [flat(row) for row in rows])
    _hold_outputs(db, rows)


def reopen_tasks(db: sqlite3.Connection, keys: list[tuple[int]]) -> None:
    db.executemany("INSERT OR IGNORE INTO attempts SELECT * FROM results WHERE id = ?", keys)
    db.executemany("DELETE FROM results WHERE id = ?", keys)


def write_bags(db: sqlite3.Connection, rows: list[BagRow]) -> None:
    _bags(db, [(*row, bag_checksum(row.spec, row.settings)) for row in rows])


def write_bag_states(
    db: sqlite3.Connection, rows: list[tuple[str, str, float | None, int]]
) -> None:
    db.executemany("UPDATE bags SET state = ?, summary = ?, ended = ? WHERE id = ?", rows)


def write_machines(db: sqlite3.Connection, rows: list[MachineRow]) -> None:
    _machines(db, rows)


def write_decisions(db: sqlite3.Connection, rows: list[DecisionRow]) -> None:
    _decisions(db, rows)


def hold_blobs(db: sqlite3.Connection, rows: list[tuple[BagId, str]]) -> None:
    _held(db, rows)


def _failed_beside_the_result(db: sqlite3.Connection, row: Finished) -> bool:
    result = row.result
    recorded = db.execute(
        "SELECT attempt FROM results WHERE id = ?", (key(result.bag, result.task),)
    ).fetchone()[0]
    return recorded != result.attempt and result.outcome != Outcome.DONE


def _hold_outputs(db: sqlite3.Connection, rows: list[Finished]) -> None:
    held = [
        (row.result.bag, sha256)
        for row in rows
        if row.result.outputs
        for _, sha256, _ in row.result.outputs
    ]
    if held:
        hold_blobs(db, held)
