"""A damaged store is noticed, described and salvaged; never taken for a shorter one."""

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bats.common.errors import BatsError, StoreDamagedError, UsageError
from bats.common.messages import BagId, Outcome, Result
from bats.master.brain.protocol.numbering import FIRST_POOL
from bats.master.store.blobs import Blobs
from bats.master.store.reader import Reader
from bats.master.store.repair.salvage import salvage
from bats.master.store.repair.soundness import inspect
from bats.master.store.rows import BagRow
from bats.master.store.store import Store

BAG = BagId(1)
EVENTS = [b"event %d" % number * 5 for number in range(3000)]
RESULTS = [(task, f"excerpt of {task}") for task in range(1500)]


@pytest.fixture
async def filled(
    folder: Path, finished: Callable[..., Result], bag_row: Callable[..., BagRow]
) -> Path:
    """A store of some 100 pages that was closed properly."""
    store = Store(folder, "1.0")
    store.bag(bag_row(1, tasks=1500))
    for event in EVENTS:
        store.journal(BAG, 1.0, event)
    store.results([finished(1, task, excerpt=excerpt) for task, excerpt in RESULTS])
    store.attempts([finished(1, task, 7, Outcome.FAILED) for task in range(100)])
    await store.close()
    return folder


async def test_an_empty_file_is_no_store(filled: Path):
    (filled / "store.db").write_bytes(b"")
    refused(filled, "not a store of BaTS: its header is empty")


async def test_a_file_of_zeros_is_no_store(filled: Path):
    size = (filled / "store.db").stat().st_size
    (filled / "store.db").write_bytes(bytes(size))
    refused(filled, "store.db cannot be read as a store: file is not a database")


def test_another_programs_database_is_no_store(tmp_path: Path):
    db = sqlite3.connect(tmp_path / "store.db")
    db.execute("CREATE TABLE notes (words)")
    db.close()
    refused(tmp_path, "not a store of BaTS")


async def test_a_store_that_is_gone_is_not_replaced_by_an_empty_one(filled: Path):
    (filled / "store.db").unlink()
    refused(filled, "store.db is gone, though mark is still there")


async def test_a_cut_file_is_described_with_what_is_left(filled: Path):
    path = filled / "store.db"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 // 4096 * 4096])
    refused(filled, "What can be read: bag 1")


async def test_a_lost_write_ahead_log_is_noticed(folder: Path, filled: Path):
    copy = folder.with_name("copied while in use")
    store = Store(filled, "1.0")
    store.journal(BAG, 9.0, b"one more")
    store.journal(BAG, 9.0, b"and another")
    await store.committed()
    shutil.copytree(filled, copy)  # as if killed now
    await store.close()
    assert inspect(copy).sound
    (copy / "store.db-wal").unlink()
    refused(copy, "the last 2 events of bag 1 were committed and are gone")
    findings = inspect(copy)
    assert [found.events for found in findings.readable] == [3000]


async def test_a_zero_filled_write_ahead_log_is_noticed(folder: Path, filled: Path):
    copy = folder.with_name("copied while in use")
    store = Store(filled, "1.0")
    store.journal(BAG, 9.0, b"one more")
    await store.committed()
    shutil.copytree(filled, copy)
    await store.close()
    size = (copy / "store.db-wal").stat().st_size
    (copy / "store.db-wal").write_bytes(bytes(size))
    refused(copy, "the last 1 events of bag 1 were committed and are gone")


async def test_a_newer_store_says_which_side_to_upgrade(filled: Path):
    db = sqlite3.connect(filled / "store.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UsageError, match=r"newer BaTS \(release 1.0, .*Upgrade this program"):
        Store(filled, "0.9")


async def test_the_next_master_can_open_a_folder_whose_first_start_was_cut_short(tmp_path: Path):
    (tmp_path / "store.db.new").write_bytes(b"half a store")
    await Store(tmp_path, "1.0").close()
    assert inspect(tmp_path).sound


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["sector", "page", "flip", "noise", "cut"])
async def test_damage_anywhere_is_never_taken_for_facts(
    filled: Path, tmp_path: Path, kind: str, seed: int
):
    chance = random.Random(f"{kind} {seed}")
    path = filled / "store.db"
    path.write_bytes(damaged(path.read_bytes(), kind, chance))
    findings = inspect(filled)
    fresh = tmp_path / "fresh"
    try:
        assert salvage(filled, fresh).sound
    except BatsError:  # nothing could be read at all
        assert not findings.sound
        return
    with Reader(fresh) as reader:
        events = [event for _, _, event in reader.events(BAG)]
        results = [(row.task, row.excerpt) for row in reader.every_task(BAG)]
    assert events == EVENTS[: len(events)]
    assert set(results) <= set(RESULTS)
    if findings.sound:  # it hit what was not in use
        assert (events, results) == (EVENTS, RESULTS)
        await Store(filled, "1.0").close()


def damaged(content: bytes, kind: str, chance: random.Random) -> bytes:
    changed = bytearray(content)
    if kind == "cut":
        return bytes(changed[: chance.randrange(len(changed))])
    for _ in range(chance.randint(1, 3)):
        size = {"sector": 512, "page": 4096, "flip": 1, "noise": 40}[kind]
        at = chance.randrange(len(changed) // size) * size
        if kind == "flip":
            changed[at] ^= 1 << chance.randrange(8)
        else:
            changed[at : at + size] = chance.randbytes(size) if kind == "noise" else bytes(size)
    return bytes(changed)


async def test_a_changed_result_is_not_shown_as_if_nothing_were(filled: Path):
    path = filled / "store.db"
    path.write_bytes(path.read_bytes().replace(b"excerpt of 77", b"excerpt \xff\xff 77"))
    with Reader(filled) as reader, pytest.raises(StoreDamagedError, match="to UTF-8"):
        reader.tasks(BAG)
    path.write_bytes(path.read_bytes().replace(b"excerpt \xff\xff 77", b"excerpt ?? 77"))
    with Reader(filled) as reader, pytest.raises(StoreDamagedError, match="task 77 of bag 1 is no"):
        reader.tasks(BAG)
    assert "11 more results are damaged" in str(inspect(filled))  # 77 and 770 to 779


async def test_what_can_be_read_goes_into_a_fresh_store(filled: Path, tmp_path: Path):
    sha256 = Blobs(filled).add(filled / "mark")
    db = sqlite3.connect(filled / "store.db", isolation_level=None)
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'results'").fetchone()
    (master_id,) = db.execute("SELECT value FROM meta WHERE key = 'master'").fetchone()
    db.execute("UPDATE journal SET crc = 0 WHERE id = (SELECT max(id) FROM journal)")
    db.close()
    content = bytearray((filled / "store.db").read_bytes())
    leaf = int.from_bytes(content[(root - 1) * 4096 + 12 + 8 * 2 :][:2])  # a pointer in its root
    page = int.from_bytes(content[(root - 1) * 4096 + leaf :][:4])
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    (filled / "store.db").write_bytes(content)

    refused(filled, "What can be read: bag 1 .* results of 1500 tasks, 2816 events")
    found = salvage(filled, tmp_path / "fresh")
    assert found.sound
    [bag] = found.readable
    assert bag.events == 2816
    assert 1400 < bag.results < 1500  # only the rows of the zeroed page are gone
    store = Store(tmp_path / "fresh", "1.0")
    assert store.master_id == master_id
    assert store.journal(BAG, 1.0, b"goes on") == 2816
    await store.close()
    assert Blobs(tmp_path / "fresh").has(sha256)
    with pytest.raises(UsageError, match="There is a store in"):
        salvage(filled, tmp_path / "fresh")


async def test_the_command_line_checks_and_salvages(filled: Path, tmp_path: Path):
    def run(*words: str | Path) -> tuple[int, str]:
        command = [sys.executable, "-m", "bats.master.store", *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    code, words = run("check", filled)
    assert (code, "is whole. It holds bag 1 (a sweep): 1500 results of 1500" in words) == (0, True)
    code, words = run("salvage", filled, tmp_path / "fresh")
    assert (code, "3000 events" in words) == (0, True)
    code, words = run("check", tmp_path)
    assert (code, "there is no store.db" in words, "Traceback" in words) == (2, True, False)
    code, words = run("salvage", tmp_path, tmp_path / "other")
    assert (code, "Traceback" in words) == (2, False)


def refused(folder: Path, words: str) -> None:
    """No master opens it, nobody calls it sound, and nothing in it is changed by looking."""
    before = {path.name: path.read_bytes() for path in folder.glob("store.db*")}
    with pytest.raises(StoreDamagedError, match=words):
        Store(folder, "1.0")
    assert not inspect(folder).sound
    after = {path.name: path.read_bytes() for path in folder.glob("store.db")}
    assert after == {name: before[name] for name in after}


async def test_the_journal_of_a_pool_is_salvaged_though_it_begins_later(
    filled: Path, tmp_path: Path
):
    store = Store(filled, "1.0")
    for event in EVENTS[:700]:
        number = store.journal(FIRST_POOL, 1.0, event)
    store.journal_begins(FIRST_POOL, number)
    store.journal(FIRST_POOL, 1.0, b"and one more")
    await store.close()
    salvage(filled, tmp_path / "fresh")
    with Reader(tmp_path / "fresh") as reader:
        left = [(699, 1.0, EVENTS[699]), (700, 1.0, b"and one more")]
        assert list(reader.events(FIRST_POOL)) == left
