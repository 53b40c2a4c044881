"""Makes batches of facts durable, one transaction each; runs in the writer's thread."""

import sqlite3
from collections.abc import Iterable
from dataclasses import field
from typing import Any, Final

from bats.common.messages import BagId
from bats.common.records import dataclass
from bats.master.store import journal_chunks
from bats.master.store.database import key
from bats.master.store.writing.mark import Mark
from bats.master.store.writing.statements import Step, write_chunks

_PASSING: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_BUSY}
"""Nothing was written, and trying again may help. Not so a failed sync: what the disk holds after
it nobody knows, and a second sync would succeed without having written anything."""


@dataclass(slots=True)
class Batch:
    """Facts in the order they were told; written wholly or not at all."""

    events: dict[BagId, tuple[int, list[Any]]] = field(default_factory=dict)
    """Events by bag: the number of the first, and `[time, event, time, event, ...]`."""
    steps: list[tuple[Step, list[Any]]] = field(default_factory=list)

    def add(self, step: Step, rows: Iterable[Any]) -> None:
        if self.steps and self.steps[-1][0] is step:
            self.steps[-1][1].extend(rows)
        else:
            self.steps.append((step, list(rows)))

    def __bool__(self) -> bool:
        return bool(self.events or self.steps)

    def __len__(self) -> int:
        events = sum(len(flat) // 2 for _, flat in self.events.values())
        return events + sum(len(rows) for _, rows in self.steps)


class Writer:
    def __init__(self, db: sqlite3.Connection, mark: Mark) -> None:
        self._db = db
        self._mark = mark
        self._open: dict[BagId, tuple[int, list[Any]]] = {}
        """The last chunk of each bag's journal while it is small: first event, events."""

    def write(self, batch: Batch) -> None:
        """Write a batch. It is on disk when this returns; when it raises, nothing of it is."""
        chunks = []
        still_open = {}
        high = 0
        for bag, told in batch.events.items():
            first, events = self._open.get(bag, (told[0], []))
            events = events + told[1]
            chunks += journal_chunks.chunks(bag, first, events)
            last = chunks[-1]
            high = last.id + last.events
            if len(last.data) < journal_chunks.OPEN_BYTES:
                still_open[bag] = (last.id - key(bag, 0), events[-2 * last.events :])
        self._db.execute("BEGIN IMMEDIATE")
        try:
            write_chunks(self._db, chunks)
            for step, rows in batch.steps:
                step(self._db, rows)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite rolls back by itself when the disk is full
                self._db.execute("ROLLBACK")
            raise
        if high:
            self._mark.note(high)
        for bag in batch.events:
            self._open.pop(bag, None)
        self._open |= still_open


def may_pass(error: BaseException) -> bool:
    """True if writing the same batch again may succeed."""
    return getattr(error, "sqlite_errorcode", None) in _PASSING
