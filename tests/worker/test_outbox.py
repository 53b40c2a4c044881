"""What is not acknowledged is kept, through restarts, torn files and full disks."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bats.worker.link.outbox import Outbox


def test_results_survive_a_restart_until_they_are_acknowledged(tmp_path: Path) -> None:
    box = Outbox(tmp_path / "outbox")
    for frame in (b"one", b"two", b"three"):
        box.put(frame, count=2)
    box.settle(1)
    del box  # killed: not closed
    again = Outbox(tmp_path / "outbox")
    assert list(again.unsettled())[-2:] == [b"two", b"three"]
    again.settle(3)
    assert again.results == 0
    again.close()
    assert list(Outbox(tmp_path / "outbox").unsettled()) == []


def test_serials_are_never_given_twice(tmp_path: Path) -> None:
    serials = []
    for _ in range(3):
        box = Outbox(tmp_path / "outbox")
        serials.append(box.next_serial)
        box.put(b"x", 1)
        box.settle(box.serial)
        box.close()
    assert serials == [1, 2, 3]


@given(cut=st.integers(0, 200))
@settings(max_examples=60, deadline=None)
def test_a_torn_tail_costs_only_the_torn_record(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("box") / "outbox"
    box, frames = Outbox(path), [b"a" * 20, b"b" * 30, b"c" * 40]
    for frame in frames:
        box.put(frame, 1)
    os.truncate(path, max(0, path.stat().st_size - cut))
    kept = list(Outbox(path).unsettled())
    assert kept == frames[: len(kept)]
    lost = sum(len(frame) + 20 for frame in frames[len(kept) :])
    assert len(kept) == 3 or lost - 60 < cut


@given(at=st.integers(0, 169), flipped=st.integers(1, 255))
@settings(max_examples=100, deadline=None)
def test_a_damaged_byte_never_brings_a_wrong_record(
    tmp_path_factory: pytest.TempPathFactory, at: int, flipped: int
) -> None:
    path = tmp_path_factory.mktemp("box") / "outbox"
    box, frames = Outbox(path), [b"a" * 20, b"b" * 30, b"c" * 40]
    for frame in frames:
        box.put(frame, 1)
    data = bytearray(path.read_bytes())
    data[at] ^= flipped
    path.write_bytes(data)
    kept = list(Outbox(path).unsettled())
    assert kept == frames[: len(kept)]


def test_the_file_stays_small_however_much_goes_through(tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    box = Outbox(path)
    largest = 0
    for _ in range(300):
        box.put(b"x" * 5000, 64)
        largest = max(largest, path.stat().st_size)
        box.settle(box.serial)
    assert largest < 100_000


def test_a_backlog_is_compacted_without_losing_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    box = Outbox(path)
    for number in range(1000):
        box.put(b"%d" % number + b"x" * 10_000, 1)
        if number >= 100:
            box.settle(number - 100)
    assert path.stat().st_size < 8 << 20
    kept = [int(frame.split(b"x")[0]) for frame in Outbox(path).unsettled()]
    assert kept[-101:] == list(range(899, 1000))


def test_a_full_disk_keeps_results_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Outbox(tmp_path / "outbox")
    box.put(b"before", 1)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        box.put(b"during", 1)
    box.put(b"after", 1)
    assert list(box.unsettled()) == [b"before", b"during", b"after"]
    assert list(Outbox(tmp_path / "outbox").unsettled()) == [b"before", b"after"]


def test_a_file_that_is_no_outbox_is_set_aside_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    path.write_bytes(b"something else entirely")
    assert list(Outbox(path).unsettled()) == []
    assert (tmp_path / "outbox.damaged").read_bytes() == b"something else entirely"
