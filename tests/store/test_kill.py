"""Whatever was acknowledged before a kill -9 is there after it."""

import random
import select
import subprocess
import sys
from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.master.store.reader import Reader
from bats.master.store.repair.soundness import inspect
from bats.master.store.store import Store

PROGRAM = Path(__file__).with_name("writer_process.py")


def start(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, PROGRAM, folder], stdout=subprocess.PIPE, bufsize=0)


def acknowledged(process: "subprocess.Popen[bytes]", until_bytes: int) -> list[int]:
    """Kill it once it has said so many bytes; the last whole line it said."""
    assert process.stdout is not None
    said = b""
    while len(said) < until_bytes:
        assert select.select([process.stdout], [], [], 30)[0], "the writer is stuck"
        said += process.stdout.read(1)
    process.kill()
    said += process.stdout.read()
    process.wait()
    process.stdout.close()
    return [int(word) for word in said[: said.rindex(b"\n")].split(b"\n")[-1].split()]


def test_all_that_was_acknowledged_survives_kill_after_kill(folder: Path):
    chance = random.Random(5)
    for life in range(1, 9):
        bag, events, results = acknowledged(start(folder), chance.randrange(10, 3000))
        assert bag == life
        assert inspect(folder).sound
        with Reader(folder) as reader:
            journal = list(reader.events(BagId(bag)))
            tasks = list(reader.every_task(BagId(bag)))
        assert len(journal) >= events
        assert len(tasks) >= results
        # What was told together is there together, and in the order it was told.
        assert [event for _, _, event in journal] == [b"event %d" % n for n in range(len(tasks))]
        assert [(row.task, row.excerpt) for row in tasks] == [
            (n, "x" * n) for n in range(len(tasks))
        ]


def test_the_lock_ends_with_the_process_that_held_it(folder: Path):
    first = start(folder)
    try:
        assert first.stdout is not None
        assert first.stdout.readline()
        with pytest.raises(UsageError, match=rf"\(pid {first.pid} on "):
            Store(folder, "1.0")
    finally:
        acknowledged(first, 1)
    store = Store(folder, "1.0")
    assert store.new_bag() == 2
    store._db.close()
    store._mark.close()
    store._lock.release()
