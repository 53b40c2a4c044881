"""Is the store whole, and if not, what of it can still be read?"""

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from bats.common.errors import StoreDamagedError
from bats.common.records import dataclass
from bats.master.store import database, journal_chunks, result_rows
from bats.master.store.repair import remnants
from bats.master.store.rows import addition_checksum, bag_checksum
from bats.master.store.writing import mark

CHECK_SECONDS: Final = 2.0
"""Seconds that a starting master looks at the structure of the file: some 300 MB."""

_BAG: Final = "id, name, tasks, spec, settings, crc"
_RESULT: Final = ", ".join(result_rows.COLUMNS)


@dataclass(frozen=True, slots=True)
class BagFindings:
    """Parts of a bag that can be read."""

    bag: int
    name: str
    tasks: int
    results: int
    events: int  # of its journal, from the first without a gap
    damage: str  # what cannot be read; empty if it is whole

    def __str__(self) -> str:
        end = f"; {self.damage}" if self.damage else ""
        return (
            f"bag {self.bag} ({self.name}): {self.results} results of {self.tasks} tasks, "
            f"{self.events} events{end}"
        )


@dataclass(frozen=True, slots=True)
class Findings:
    folder: Path
    problems: tuple[str, ...]
    readable: tuple[BagFindings, ...]

    @property
    def sound(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        """The damage, what can be recovered and how, in full sentences."""
        held = "; ".join(map(str, self.readable)) or "nothing"
        if self.sound:
            return f"The store in {self.folder} is whole. It holds {held}."
        advice = (
            "Copy that into a fresh folder with "
            f"`python -m bats.master.store salvage {self.folder} NEW_FOLDER` and use that one."
            if self.readable
            else "Put a copy of it back, or choose another state folder."
        )
        return (
            f"The store in {self.folder} is damaged: {'; '.join(self.problems)}. "
            f"What can be read: {held}. {advice}"
        )


def open_checked(folder: Path, release: str) -> sqlite3.Connection:
    """The writing connection to a store that is whole as far as can be seen in a short time."""
    try:
        return _open_checked(folder, release)
    except sqlite3.DatabaseError as error:
        raise database.unreadable(error, folder) from error


def _open_checked(folder: Path, release: str) -> sqlite3.Connection:
    if not (folder / database.FILE).exists():
        if remains := _remains(folder):
            raise StoreDamagedError(str(Findings(folder, (remains,), ())))
        database.create(folder, release)
    # Looked at without the right to write: opening a damaged file for writing changes it.
    try:
        with closing(database.open_reading(folder)) as db:
            sound = not list(_problems(db, folder, CHECK_SECONDS))
    except StoreDamagedError:
        sound = False
    if not sound:
        raise StoreDamagedError(str(inspect(folder)))
    db = database.open_writing(folder)
    db.execute("UPDATE meta SET value = ? WHERE key = 'release' AND value <> ?", (release, release))
    return db


def inspect(folder: Path) -> Findings:
    """Read all of a store, beside a living master or without one, and say what is wrong."""
    if not (folder / database.FILE).exists():
        remains = _remains(folder) or f"there is no {database.FILE}"
        return Findings(folder, (remains,), ())
    try:
        with remnants.opened(folder) as db:
            problems = list(_problems(db, folder))
            bags = tuple(_readable(db))
    except StoreDamagedError as error:
        return Findings(folder, (str(error).removesuffix("."),), ())
    problems += [found.damage for found in bags if found.damage]
    return Findings(folder, tuple(problems), bags)


def _problems(db: sqlite3.Connection, folder: Path, seconds: float | None = None) -> Iterator[str]:
    """Problems that SQLite and the mark find; within `seconds` perhaps not all of them."""
    timer = threading.Timer(seconds or threading.TIMEOUT_MAX, db.interrupt)
    timer.start()
    try:
        found = [text for (text,) in db.execute("PRAGMA quick_check(5)")]
        if found != ["ok"]:
            yield " ".join(" ".join(found).split())
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            yield _damage(error, folder)
    finally:
        timer.cancel()
        timer.join()  # it must not interrupt what comes next
    try:
        if lost := mark.lost(db, folder):
            yield lost
    except sqlite3.DatabaseError as error:
        yield _damage(error, folder)


def _damage(error: sqlite3.DatabaseError, folder: Path) -> str:
    """Raises BatsError if this does not tell of damage."""
    meant = database.unreadable(error, folder)
    if not isinstance(meant, StoreDamagedError):
        raise meant from error
    return str(meant).removesuffix(".")


def _readable(db: sqlite3.Connection) -> Iterator[BagFindings]:
    for bag, name, tasks, spec, settings, crc in remnants.rows_from_both_ends(db, _BAG, "bags"):
        rows = remnants.rows_from_both_ends(db, _RESULT, "results", *database.keys_of(bag))
        counted = Counter(map(result_rows.intact, rows))
        damage = [] if bag_checksum(spec, settings) == crc else ["its sweep is damaged"]
        if counted[False]:
            damage.append(f"{counted[False]} more results are damaged")
        if _additions_damaged(db, bag):
            damage.append("tasks that were added to it are damaged")
        events = 0
        try:
            for number, _, _ in journal_chunks.read(db, bag):
                events = number + 1
        except StoreDamagedError as error:
            damage.append(str(error).removesuffix("."))
        yield BagFindings(bag, name, tasks, counted[True], events, "; ".join(damage))


def _additions_damaged(db: sqlite3.Connection, bag: int) -> bool:
    columns, keys = "id, tasks, name, space, crc", database.keys_of(bag)
    return any(
        addition_checksum(tasks, name, space) != crc
        for _, tasks, name, space, crc in remnants.rows_from_both_ends(
            db, columns, "additions", *keys
        )
    )


def _remains(folder: Path) -> str:
    """Files that are left though the database is gone: there should be none of its company."""
    names = (f"{database.FILE}-wal", mark.FILE)
    left = [name for name in names if (folder / name).exists() and (folder / name).stat().st_size]
    return f"{database.FILE} is gone, though {' and '.join(left)} is still there" if left else ""
