"""Results in the database: how they are written and read back; tame, and with a checksum.

SQLite notices a page that cannot be, not one whose numbers were changed.
"""

import json
import math
import operator
import sqlite3
import struct
import zlib
from typing import Any, Final

from bats.common.errors import StoreDamagedError
from bats.common.messages import BagId, Outcome, Result, TaskId
from bats.common.outcomes.values import Value, last_line, values_of
from bats.master.brain.protocol.numbering import from_table
from bats.master.store.database import SHIFT, key
from bats.master.store.writing.insert import Insert, tame
from bats.master.store.writing.statements import hold_blobs

COLUMNS: Final = (
    "id", "machine", "cluster", "started", "attempt", "outcome", "exit_code", "wall_seconds",
    "user_seconds", "system_seconds", "peak_kib", "output_bytes", "excerpt", "slot", "outputs",
    "crc",
)  # fmt: skip

TOLD: Final = ("bag", "task", *COLUMNS[1:-1])
"""The columns that are told of a result, in this order."""

_NUMBERS: Final = struct.Struct("<qqdqqqdddqqq").pack


def flat(result: Result) -> tuple[Any, ...]:
    """A row in the order of COLUMNS."""
    (bag, task, attempt, outcome, exit_code, wall, user, system, peak, output, excerpt, slot, files,
     machine, cluster, started, _) = result  # fmt: skip
    values = (
        key(bag, task), machine, cluster, started, attempt, int(outcome), exit_code,
        wall, user, system, peak, output, excerpt, slot, json.dumps(files) if files else "",
    )  # fmt: skip
    try:
        return (*values, checksum(values))
    except (struct.error, UnicodeEncodeError, ValueError):  # a worker may say anything
        values = tuple(map(tame, values))
        return (*values, checksum(values))


def checksum(values: tuple[Any, ...]) -> int:
    """The checksum of the row without it; raises what SQLite would not keep as it is."""
    (at, machine, cluster, started, attempt, outcome, exit_code, wall, user, system, peak, output,
     excerpt, slot, outputs) = values  # fmt: skip
    if math.isnan(started + wall + user + system):
        raise ValueError("not a number")
    numbers = _NUMBERS(
        at, machine, started, attempt, outcome, exit_code, wall, user, system, peak, output, slot
    )
    text = f"{len(cluster)} {len(excerpt)} {cluster}{excerpt}{outputs}"
    return zlib.crc32(text.encode(), zlib.crc32(numbers))


def intact(row: tuple[Any, ...]) -> bool:
    """True if a row that was read is the one that was written."""
    try:
        return bool(checksum(row[:-1]) == row[-1])
    except (struct.error, TypeError, ValueError):
        return False


def result_from(row: tuple[Any, ...]) -> Result:
    """The result of a row as it was read."""
    (at, machine, cluster, started, attempt, outcome, exit_code, wall, user, system, peak, output,
     excerpt, slot, files, _) = row  # fmt: skip
    bag = BagId(at >> SHIFT)
    task = TaskId(at - key(bag, 0))
    if not intact(row):
        raise StoreDamagedError(
            f"The store is damaged: what it says of task {task} of bag {bag} is not what was "
            "written. `python -m bats.master.store check FOLDER` says what can be read."
        )
    return Result(
        bag, task, attempt, Outcome(outcome), exit_code, wall, user, system, peak, output,
        excerpt, slot, tuple(map(tuple, json.loads(files))) if files else (),
        from_table(machine), cluster, started,
    )  # fmt: skip


def told(result: Result) -> dict[str, Any]:
    facts = {name: getattr(result, name) for name in TOLD}
    facts["outcome"] = result.outcome.name.lower()
    facts["excerpt"] = last_words(result)
    facts["values"] = values_told(result)
    return facts


def values_told(result: Result) -> dict[str, Value]:
    return values_of(result.excerpt) if result.outcome is Outcome.DONE else {}


def last_words(result: Result) -> str:
    """The last line of a success; the last lines of a failure."""
    return last_line(result.excerpt) if result.outcome is Outcome.DONE else result.excerpt


# --- writing --------------------------------------------------------------------------------------

_results = Insert("INTO results", len(COLUMNS), "ON CONFLICT (id) DO NOTHING")
_task = operator.attrgetter("task")
_attempts = Insert("INTO attempts", len(COLUMNS), "ON CONFLICT (id, attempt) DO NOTHING")


def write_results(db: sqlite3.Connection, rows: list[Result]) -> None:
    """Record the first result of each task; count later ones, and keep those that failed.

    A success counts before any failure, as it does to the engine: a copy may end late.

    Tasks end in any order. Written in that of their numbers, rows that share a page come together:
    of a table larger than what is kept in memory that is half of the work.
    """
    by_bag: dict[int, list[Result]] = {}
    for row in rows:
        by_bag.setdefault(row.bag, []).append(row)
    for bag, group in by_bag.items():
        group.sort(key=_task)  # those of one task stay in their order
        copies = len(group) - _results(db, [flat(row) for row in group])
        if copies:
            copies -= _put_before_failures(db, group)
            db.execute("UPDATE bags SET duplicates = duplicates + ? WHERE id = ?", (copies, bag))
            write_attempts(db, [row for row in group if _failed_beside_the_result(db, row)])
    _hold_outputs(db, rows)


def write_attempts(db: sqlite3.Connection, rows: list[Result]) -> None:
    _attempts(db, [flat(row) for row in rows])
    _hold_outputs(db, rows)


def reopen_tasks(db: sqlite3.Connection, keys: list[tuple[int]]) -> None:
    db.executemany("INSERT OR IGNORE INTO attempts SELECT * FROM results WHERE id = ?", keys)
    db.executemany("DELETE FROM results WHERE id = ?", keys)


def _put_before_failures(db: sqlite3.Connection, rows: list[Result]) -> int:
    """The number of successes that are results now in place of failures."""
    late = [
        row for row in rows if row.outcome is Outcome.DONE and _recorded(db, row)[1] != Outcome.DONE
    ]
    reopen_tasks(db, [(key(row.bag, row.task),) for row in late])
    return _results(db, [flat(row) for row in late])


def _failed_beside_the_result(db: sqlite3.Connection, row: Result) -> bool:
    return bool(_recorded(db, row)[0] != row.attempt and row.outcome != Outcome.DONE)


def _recorded(db: sqlite3.Connection, row: Result) -> tuple[int, int]:
    """The attempt and the outcome of the result that its task has."""
    where = key(row.bag, row.task)
    found: tuple[int, int] = db.execute(
        "SELECT attempt, outcome FROM results WHERE id = ?", (where,)
    ).fetchone()
    return found


def _hold_outputs(db: sqlite3.Connection, rows: list[Result]) -> None:
    held = [(row.bag, sha256) for row in rows if row.outputs for _, sha256, _ in row.outputs]
    if held:
        hold_blobs(db, held)
