"""Files are on the disk before a result says that they are there."""

from pathlib import Path

import pytest
from helpers.service import eventually

from bats.worker.tasks import syncing
from bats.worker.tasks.syncing import Syncing


async def synced(folder: Path, count: int) -> list[OSError | None]:
    """What was told of so many files, added one by one."""
    told: list[OSError | None] = []
    slow = Syncing()
    for number in range(count):
        file = folder / str(number)
        file.touch()
        slow.add([file], told.append)
    await eventually(lambda: len(told) == count)
    return told


async def test_those_that_come_while_others_are_synced_are_synced_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    sync = syncing.sync

    def counted(files: list[Path]) -> None:
        batches.append(len(files))
        sync(files)

    monkeypatch.setattr(syncing, "sync", counted)
    assert await synced(tmp_path, 40) == [None] * 40
    assert batches == [1, 39]


async def test_a_disk_that_cannot_is_told_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", broken)
    (error,) = await synced(tmp_path, 1)
    assert error is not None
    assert error.strerror == "Input/output error"
