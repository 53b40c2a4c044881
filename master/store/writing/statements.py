"""Statements for each kind of row; of results, `bats.master.store.result_rows` says it.

One function per kind takes many rows, inside a transaction.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from bats.common.messages import BagId
from bats.master.store.database import ADDITIONS, LEARNED, key
from bats.master.store.journal_chunks import Chunk
from bats.master.store.rows import (
    AdditionRow,
    BagRow,
    DecisionRow,
    LearnedRow,
    MachineRow,
    addition_checksum,
    bag_checksum,
)
from bats.master.store.writing.insert import Insert

Step = Callable[[sqlite3.Connection, list[Any]], None]

_journal = Insert("OR REPLACE INTO journal", len(Chunk._fields))
_held = Insert("OR IGNORE INTO blobs", 2)
_bags = Insert("INTO bags", len(BagRow._fields) + 1)
_additions = Insert("INTO additions", 5)
_decisions = Insert("INTO decisions (bag, time, words)", len(DecisionRow._fields))
_learned = Insert("OR REPLACE INTO learned", len(LearnedRow._fields))
_machines = Insert(
    "INTO machines",
    len(MachineRow._fields),
    "ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in MachineRow._fields[1:]),
)


def write_chunks(db: sqlite3.Connection, rows: list[Chunk]) -> None:
    _journal(db, rows)


def write_bags(db: sqlite3.Connection, rows: list[BagRow]) -> None:
    _bags(db, [(*row, bag_checksum(row.spec, row.settings)) for row in rows])


def write_additions(db: sqlite3.Connection, rows: list[AdditionRow]) -> None:
    """Beside each, the bag counts its tasks."""
    db.execute(ADDITIONS)
    _additions(
        db,
        [
            (key(bag, first), tasks, name, space, addition_checksum(tasks, name, space))
            for bag, first, tasks, name, space in rows
        ],
    )
    totals = {row.bag: row.first + row.tasks for row in rows}
    db.executemany(
        "UPDATE bags SET tasks = ? WHERE id = ?", [(n, bag) for bag, n in totals.items()]
    )


def write_bag_states(
    db: sqlite3.Connection, rows: list[tuple[str, str, float | None, int]]
) -> None:
    db.executemany("UPDATE bags SET state = ?, summary = ?, ended = ? WHERE id = ?", rows)


def write_machines(db: sqlite3.Connection, rows: list[MachineRow]) -> None:
    _machines(db, rows)


def write_decisions(db: sqlite3.Connection, rows: list[DecisionRow]) -> None:
    _decisions(db, rows)


def write_learned(db: sqlite3.Connection, rows: list[LearnedRow]) -> None:
    db.execute(LEARNED)
    columns = db.execute("SELECT name FROM pragma_table_info('learned')").fetchall()
    if ("losses",) not in columns:
        db.execute("ALTER TABLE learned ADD COLUMN losses BLOB")
    _learned(db, rows)


def forget_learned(db: sqlite3.Connection, templates: list[str]) -> None:
    db.execute(LEARNED)
    db.executemany("DELETE FROM learned WHERE template = ?", [(one,) for one in templates])


def hold_blobs(db: sqlite3.Connection, rows: list[tuple[BagId, str]]) -> None:
    _held(db, rows)
