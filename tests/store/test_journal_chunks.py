"""A bag's journal comes back event by event, or says where it is damaged."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bats.common.errors import StoreDamagedError
from bats.common.messages import BagId
from bats.master.store import database, journal_chunks
from bats.master.store.writing.mark import Mark
from bats.master.store.writing.writer import Batch, Writer

Events = list[tuple[float, bytes]]
Damage = Callable[[sqlite3.Connection], object]

BAG = BagId(3)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    database.create(tmp_path, "1")
    connection = database.open_writing(tmp_path)
    yield connection
    connection.close()


def write(db: sqlite3.Connection, folder: Path, batches: list[dict[BagId, Events]]) -> None:
    mark = Mark(folder)
    writer = Writer(db, mark)
    next_event: dict[BagId, int] = {}
    for told in batches:
        batch = Batch()
        for bag, events in told.items():
            if events:
                flat = [part for event in events for part in event]
                batch.events[bag] = (next_event.get(bag, 0), flat)
                next_event[bag] = next_event.get(bag, 0) + len(events)
        writer.write(batch)
    mark.close()


def a_thousand(first: int = 0) -> Events:
    return [(float(number), b"event %d" % number) for number in range(first, first + 1000)]


events = st.lists(st.tuples(st.floats(allow_nan=False), st.binary(max_size=60)), max_size=600)


@settings(deadline=None, max_examples=40)  # each syncs the disk some times
@given(st.lists(st.dictionaries(st.sampled_from([BagId(1), BAG, BagId(4)]), events), max_size=8))
def test_events_come_back_in_order_however_they_were_batched(
    tmp_path_factory: pytest.TempPathFactory, batches: list[dict[BagId, Events]]
):
    folder = tmp_path_factory.mktemp("journal")
    database.create(folder, "1")
    db = database.open_writing(folder)
    try:
        write(db, folder, batches)
        for bag in (BagId(1), BAG, BagId(4)):
            told = [event for batch in batches for event in batch.get(bag, [])]
            read = list(journal_chunks.read(db, bag))
            assert [event[1:] for event in read] == told
            assert [event[0] for event in read] == list(range(len(told)))
            assert journal_chunks.length(db, bag) == len(told)
    finally:
        db.close()


def test_a_slow_trickle_of_events_fills_few_rows(db: sqlite3.Connection, tmp_path: Path):
    write(db, tmp_path, [{BAG: [event]} for event in a_thousand()])
    assert [event[1:] for event in journal_chunks.read(db, BAG)] == a_thousand()
    (rows,) = db.execute("SELECT count(*) FROM journal").fetchone()
    assert rows < 20


def test_after_a_restart_the_journal_goes_on_in_a_new_row(db: sqlite3.Connection, tmp_path: Path):
    write(db, tmp_path, [{BAG: a_thousand()}])
    writer = Writer(db, Mark(tmp_path))
    writer.write(Batch(events={BAG: (1000, [7.0, b"after"])}))
    writer._mark.close()
    assert [event[1:] for event in journal_chunks.read(db, BAG)] == [*a_thousand(), (7.0, b"after")]


def flip(db: sqlite3.Connection, row: int) -> None:
    key, data = db.execute(f"SELECT id, data FROM journal LIMIT 1 OFFSET {row}").fetchone()
    changed = bytearray(data)
    changed[len(changed) // 2] ^= 1
    db.execute("UPDATE journal SET data = ? WHERE id = ?", (bytes(changed), key))


def swap(db: sqlite3.Connection) -> None:
    (first, a), (second, b) = db.execute("SELECT id, data FROM journal LIMIT 2").fetchall()
    db.executemany("UPDATE journal SET data = ? WHERE id = ?", [(b, first), (a, second)])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda db: db.execute("UPDATE journal SET data = zeroblob(length(data))"), "at event 0"),
        (lambda db: flip(db, row=2), "at event 512"),
        (lambda db: db.execute("UPDATE journal SET crc = crc + 1 WHERE id & 1023 = 256"), "256"),
        (lambda db: db.execute("UPDATE journal SET events = 'x'"), "at event 0"),
        (lambda db: db.execute("UPDATE journal SET data = NULL"), "at event 0"),
        (lambda db: db.execute("DELETE FROM journal WHERE id & 1023 = 256"), "256 to 511"),
        (swap, "at event 0"),
    ],
)
def test_damage_is_found_and_what_lies_before_it_is_given(
    db: sqlite3.Connection, tmp_path: Path, damage: Damage, words: str
):
    write(db, tmp_path, [{BAG: a_thousand()}])
    damage(db)
    got: list[tuple[int, float, bytes]] = []
    with pytest.raises(StoreDamagedError, match=words):
        got.extend(journal_chunks.read(db, BAG))
    assert [event[1:] for event in got] == a_thousand()[: len(got)]


@given(st.data())
def test_no_changed_byte_of_a_chunk_goes_unnoticed(data: st.DataObject):
    [chunk] = journal_chunks.chunks(BAG, 5, [1.0, b"one", 2.0, b"two"])
    at = data.draw(st.integers(0, len(chunk.data) - 1))
    changed = bytearray(chunk.data)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert journal_chunks.checksum(chunk.id, chunk.events, bytes(changed)) != chunk.crc
    assert journal_chunks.checksum(chunk.id + 1, chunk.events, chunk.data) != chunk.crc
    assert journal_chunks.checksum(chunk.id, chunk.events + 1, chunk.data) != chunk.crc


@pytest.mark.parametrize("at", [0, 1, 255, 256, 300, 999])
def test_a_journal_may_begin_later_and_goes_on_as_before(
    at: int, db: sqlite3.Connection, tmp_path: Path
):
    write(db, tmp_path, [{BAG: a_thousand(), BagId(4): a_thousand()}])
    journal_chunks.forget_before(db, [(BAG, at)])
    left = [(number, *event) for number, event in enumerate(a_thousand())]
    assert list(journal_chunks.read(db, BAG)) == left[at:]
    assert list(journal_chunks.read(db, BAG, 700)) == left[max(at, 700) :]
    assert journal_chunks.length(db, BAG) == 1000
    assert len(list(journal_chunks.read(db, BagId(4)))) == 1000
    rows = "SELECT count(*) FROM journal WHERE id BETWEEN ? AND ?"
    assert db.execute(rows, database.keys_of(BAG)).fetchone() == (4 - at // 256,)


def test_a_lost_beginning_is_damage_also_of_a_journal_that_begins_later(
    db: sqlite3.Connection, tmp_path: Path
):
    write(db, tmp_path, [{BAG: a_thousand()}])
    journal_chunks.forget_before(db, [(BAG, 600)])
    db.execute("DELETE FROM journal WHERE id < ?", (database.key(BAG, 700),))
    with pytest.raises(StoreDamagedError, match="lacks events 600 to 767"):
        list(journal_chunks.read(db, BAG))
    db.execute("DELETE FROM journal")
    with pytest.raises(StoreDamagedError, match="lacks all events from 600 on"):
        list(journal_chunks.read(db, BAG))
