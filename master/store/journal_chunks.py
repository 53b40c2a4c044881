"""The journal on disk: events of a bag in chunks, each with a checksum.

A chunk is one row: `bag << SHIFT | first event`, the number of events, the CRC-32, and the
events as one flat msgpack array `[time, event, time, event, ...]`.
"""

import sqlite3
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgpack

from bats.common.errors import StoreDamagedError
from bats.master.store.database import SHIFT, key, keys_of

CHUNK_EVENTS: Final = 256
OPEN_BYTES: Final = 2000
"""A last chunk smaller than this is written again, longer, with the next events: a bag that sees
one event a second would otherwise be a million rows, seven times slower to read."""

_pack = msgpack.Packer().pack
_seed = struct.Struct("<qq").pack


_BEGINS: Final = "coalesce((SELECT value FROM meta WHERE key = :begins), 0)"
_READ: Final = f"""
SELECT id, events, crc, data, {_BEGINS} FROM journal WHERE id BETWEEN coalesce((
    SELECT max(id) FROM journal WHERE id BETWEEN :lowest AND :lowest + max(:since, {_BEGINS})
), :lowest) AND :highest ORDER BY id
"""
"""All in one statement: a journal may begin anew while it is read."""


class Chunk(NamedTuple):
    id: int
    events: int
    crc: int
    data: bytes


def checksum(at: int, events: int, data: bytes) -> int:
    """Covers the key as well: a chunk that turns up at another place is as bad as a torn one."""
    return zlib.crc32(data, zlib.crc32(_seed(at, events)))


def chunks(bag: int, first: int, flat: list[Any]) -> list[Chunk]:
    """Cut `[time, event, time, event, ...]`, beginning with event number `first`, into rows."""
    rows = []
    for offset in range(0, len(flat), 2 * CHUNK_EVENTS):
        part = flat[offset : offset + 2 * CHUNK_EVENTS]
        at, events, data = key(bag, first + offset // 2), len(part) // 2, _pack(part)
        rows.append(Chunk(at, events, checksum(at, events, data), data))
    return rows


def read(db: sqlite3.Connection, bag: int, since: int = 0) -> Iterator[tuple[int, float, bytes]]:
    """A bag's events from number `since` on: number, time, bytes. One chunk at a time is in memory.

    Those before the journal's beginning are forgotten.

    Raises StoreDamagedError where the journal stops being whole; all before that has been yielded.
    """
    lowest, highest = keys_of(bag)
    told = {"begins": _begins(bag), "lowest": lowest, "highest": highest, "since": since}
    expected: int | None = None
    try:
        for at, events, crc, data, begins in db.execute(_READ, told):
            if expected is None:  # what is asked for may lie within a chunk
                since = max(since, begins)
                expected = begins if at > lowest + since else at - lowest
            first = at - key(bag, 0)
            if first != expected:
                raise StoreDamagedError(
                    f"The journal of bag {bag} lacks events {expected} to {first - 1}."
                )
            typed = isinstance(events, int) and isinstance(data, bytes)
            if not typed or checksum(at, events, data) != crc:
                raise StoreDamagedError(
                    f"The journal of bag {bag} is damaged at event {first}: "
                    f"its checksum is wrong. The {first} events before it are intact."
                )
            flat = iter(msgpack.unpackb(data))
            for number, now, event in zip(range(first, first + events), flat, flat, strict=False):
                if number >= since:
                    yield number, now, event
            expected = first + events
        if expected is None and (begins := beginning(db, bag)):
            raise StoreDamagedError(f"The journal of bag {bag} lacks all events from {begins} on.")
    except sqlite3.DatabaseError as error:
        after = (expected or since) - 1
        raise StoreDamagedError(
            f"The journal of bag {bag} cannot be read after event {after}: {error}."
        ) from error


def beginning(db: sqlite3.Connection, bag: int) -> int:
    """The number of the first event that is still needed."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_begins(bag),)).fetchone()
    return int(row[0]) if row else 0


def forget_before(db: sqlite3.Connection, rows: list[tuple[int, int]]) -> None:
    """Let journals begin with these events: bag, number."""
    for bag, number in rows:
        lowest, _ = keys_of(bag)
        forgotten = "DELETE FROM journal WHERE id >= ? AND id + events <= ? AND id < ?"
        db.execute(forgotten, (lowest, lowest + number, lowest + number))
        begins = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
        db.execute(begins, (_begins(bag), number))


def _begins(bag: int) -> str:
    return f"journal of {bag} begins"


def owners(db: sqlite3.Connection, since: int) -> list[int]:
    """The numbers from that one on that a journal is kept of."""
    found: list[int] = []
    while True:
        query = "SELECT min(id) FROM journal WHERE id >= ?"
        (first,) = db.execute(query, (key(since, 0),)).fetchone()
        if first is None:
            return found
        found.append(first >> SHIFT)
        since = found[-1] + 1


def length(db: sqlite3.Connection, bag: int) -> int:
    """The number of events in the journal of this bag."""
    last = db.execute(
        "SELECT id + events FROM journal WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
        keys_of(bag),
    ).fetchone()
    return last[0] - key(bag, 0) if last else 0
