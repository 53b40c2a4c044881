"""A full disk pauses the store; nothing is acknowledged that is not written, nothing is lost."""

import asyncio
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bats.common.errors import BatsError
from bats.common.messages import BagId, Result
from bats.master.store.repair.soundness import inspect
from bats.master.store.rows import BagRow
from bats.master.store.store import Store
from bats.master.store.writing.group_commit import Trouble

BAG = BagId(1)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def file_limit() -> Iterator[Callable[[int], None]]:
    """No file of this process may grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Told:
    """A store that is told tasks until there is trouble, and what it acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.trouble = asyncio.Event()
        self.good = asyncio.Event()
        self.said: list[Trouble | None] = []
        self.acknowledged = 0
        self.store = Store(folder, "1.0", self.on_trouble, retry_seconds=0.01)

    def on_trouble(self, trouble: Trouble | None) -> None:
        self.said.append(trouble)
        (self.trouble if trouble else self.good).set()

    async def tell(self, rows: list[Result]) -> None:
        for row in rows:
            self.store.journal(BAG, 1.0, b"task %d" % row.task)
            self.store.results([row])
            self.store.then(self.acknowledge)
            if row.task % 50 == 0:
                await asyncio.sleep(0.001)

    def acknowledge(self) -> None:
        self.acknowledged += 1

    def stored(self) -> int:
        with self.store.reader() as reader:
            assert len(list(reader.events(BAG))) == len(list(reader.every_task(BAG)))
            return reader.tasks(BAG).total


async def test_facts_wait_in_memory_until_there_is_room_on_the_disk(
    small_disk: Path, finished: Callable[..., Result], bag_row: Callable[..., BagRow]
):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(1_000_000))
    told = Told(small_disk / "state")
    told.store.bag(bag_row(1))
    await told.tell([finished(1, task, excerpt="x" * 300) for task in range(3000)])
    await asyncio.wait_for(told.trouble.wait(), 30)
    [trouble] = told.said
    assert trouble is not None
    assert trouble.passing
    assert "is full (" in trouble.sentence
    acknowledged = told.acknowledged
    assert told.stored() == acknowledged < 3000
    ballast.unlink()
    await asyncio.wait_for(told.good.wait(), 30)
    await asyncio.wait_for(told.store.committed(), 30)
    assert told.stored() == told.acknowledged == 3000
    await told.store.close()
    assert inspect(small_disk / "state").sound


async def test_a_limit_on_file_sizes_is_borne_like_a_full_disk(
    folder: Path,
    file_limit: Callable[[int], None],
    finished: Callable[..., Result],
    bag_row: Callable[..., BagRow],
):
    told = Told(folder)
    told.store.bag(bag_row(1))
    await told.store.committed()
    file_limit(300_000)
    await told.tell([finished(1, task, excerpt="x" * 300) for task in range(3000)])
    await asyncio.wait_for(told.trouble.wait(), 30)
    file_limit(resource.RLIM_INFINITY)
    await asyncio.wait_for(told.store.committed(), 30)
    assert told.said[-1] is None
    assert told.stored() == told.acknowledged == 3000
    await told.store.close()
    assert inspect(folder).sound


async def test_a_store_on_a_full_disk_opens_with_a_sentence_or_not_at_all(
    small_disk: Path,
):
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(4_000_000))
    with pytest.raises(BatsError, match="full"):
        Store(small_disk / "state", "1.0")
    ballast.unlink()
    await Store(small_disk / "state", "1.0").close()
