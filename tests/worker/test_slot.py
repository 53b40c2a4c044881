"""A slot's scratch folder is empty for each task, whatever the one before left and when."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bats.worker.tasks.slot import Slot

LONG_AGO = time.time_ns() - 10_000_000_000


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[Slot]:
    null = os.open(os.devnull, os.O_RDONLY)
    pipe = os.pipe()
    made = Slot(tmp_path, 0, null, pipe[0], None)
    yield made
    made.close()
    for file in (null, *pipe):
        os.close(file)


def test_an_untouched_folder_stays(slot: Slot) -> None:
    os.utime(slot.scratch, ns=(LONG_AGO, LONG_AGO))
    assert [slot.clear_scratch() for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("age_ns", [0, 10_000_000_000])
def test_what_a_task_left_is_put_aside_however_long_the_folder_was_empty(
    slot: Slot, age_ns: int
) -> None:
    then = time.time_ns() - age_ns
    os.utime(slot.scratch, ns=(then, then))
    assert slot.clear_scratch() is None
    Path(slot.scratch, "left").write_text("by the task before")
    if not age_ns:  # in the same tick of the file system's clock
        os.utime(slot.scratch, ns=(then, then))
    trash = slot.clear_scratch()
    assert trash is not None
    assert [path.name for path in Path(trash).iterdir()] == ["left"]
    assert not any(Path(slot.scratch).iterdir())


def test_a_folder_that_stays_as_it_is_is_soon_not_listed_any_more(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(slot.scratch, ns=(LONG_AGO, LONG_AGO | 1))  # a time that only a fine clock tells
    looks = []
    listed = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: looks.append(path) or listed(path))
    assert slot.clear_scratch() is None
    time.sleep(0.06)
    assert [slot.clear_scratch() for _ in range(4)] == [None] * 4
    assert len(looks) == 2


def test_a_folder_that_the_task_deleted_is_made_again(slot: Slot) -> None:
    Path(slot.scratch).rmdir()
    assert slot.clear_scratch() is None
    assert Path(slot.scratch).is_dir()
