"""Files reach the machine once, whole and unchanged, and what tasks leave comes back the same."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common import messages as m
from bats.common.wire.codec import CHUNK_BYTES
from bats.common.wire.transfer import UNDER_WAY, Download
from bats.worker.files.library import Library

Start = Callable[..., Any]
BAG = m.BagId(1)
BIG = os.urandom(5 * CHUNK_BYTES + 17)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _input(name: str, data: bytes, mode: int = 0o644) -> tuple[str, str, int, int]:
    return name, _sha(data), len(data), mode


def _serve(master: Any, *contents: bytes, answers: int | None = None) -> int:
    """Answer so many questions for these contents, or until each is stored; how many it took."""
    by_sha, asked = {_sha(data): data for data in contents}, 0
    while by_sha and (answers is None or asked < answers):
        said = master.hear((m.WantBlob, m.BlobStored))
        data = by_sha[said.sha256]
        if isinstance(said, m.BlobStored):
            assert said.offset == len(data)
            del by_sha[said.sha256]
            continue
        asked += 1
        piece = data[said.offset : said.offset + CHUNK_BYTES]
        master.say(m.BlobChunk(said.sha256, said.offset, len(data), piece))
    return asked


def _fetch(master: Any, sha256: str, total: int) -> bytes:
    data = b""
    while len(data) < total:
        master.say(m.WantBlob(sha256, len(data)))
        data += master.hear(m.BlobChunk).data
    assert _sha(data) == sha256
    return data


def _order(master: Any, *commands: str, spec: dict[str, Any]) -> None:
    orders = tuple(m.Order(m.TaskId(n), 1, (c,)) for n, c in enumerate(commands))
    master.say(m.BagSpec(BAG, ("c",), **{"command": "{c!raw}", **spec}), m.Run(BAG, orders))


def test_inputs_are_fetched_once_and_lie_in_every_scratch_folder(
    master: Any, worker: Any, tmp_path: Path
) -> None:
    inputs = (
        _input("data/big", BIG),
        _input("run.sh", b"#!/bin/sh\nwc -c < data/big\n", 0o755),
        _input("none", b""),
    )
    spec = {"inputs": inputs, "output_folder": str(tmp_path)}
    _order(master, *["./run.sh; cat none"] * 5, spec=spec)
    asked = _serve(master, BIG, b"#!/bin/sh\nwc -c < data/big\n", b"")
    assert asked == 6 + 1
    assert {r.outcome for r in master.results(5)} == {m.Outcome.DONE}
    assert (tmp_path / "0" / "4.out").read_text() == f"{len(BIG)}\n"
    master.say(
        m.BagSpec(BAG, ("c",), command="{c!raw}", **spec),
        m.Run(BAG, (m.Order(m.TaskId(9), 1, ("true",)),)),
    )
    master.results(1)
    assert not master.heard, "nothing was asked for again"


def test_tasks_wait_for_their_files_and_are_not_given_back(master: Any, worker: Any) -> None:
    _order(master, "true", "true", spec={"inputs": (_input("big", BIG),)})
    master.say(m.Kill((m.AttemptId(BAG, m.TaskId(1), 1),)))
    (killed,) = master.results(1)
    assert (killed.task, killed.outcome) == (1, m.Outcome.KILLED)
    for _ in range(15):  # longer than an order may wait behind a running task
        master.turn(100)
    assert not [said for said in master.heard if isinstance(said, m.Returned)]
    _serve(master, BIG)
    assert master.results(1)[0].outcome == m.Outcome.DONE


def test_a_fetch_goes_on_where_it_stopped(master: Any, start: Start) -> None:
    daemon = start()
    master.welcome()
    _order(master, "true", spec={"inputs": (_input("big", BIG),)})
    _serve(master, BIG, answers=3)
    assert master.hear(m.WantBlob, lambda w: w.offset >= 4 * CHUNK_BYTES)  # it took some of that
    daemon.process.kill()
    daemon.process.communicate()
    master.heard.clear()
    start()
    master.welcome()
    _order(master, "true", spec={"inputs": (_input("big", BIG),)})
    assert _serve(master, BIG) < 6
    assert master.results(1)[0].outcome == m.Outcome.DONE


def test_a_damaged_file_is_fetched_again(master: Any, worker: Any) -> None:
    good, bad = b"x" * 1000, b"y" * 1000
    _order(master, "grep -q x f", spec={"inputs": (_input("f", good),)})
    want = master.hear(m.WantBlob)
    master.say(m.BlobChunk(want.sha256, 0, 1000, bad))
    assert _serve(master, good) == 1
    assert master.results(1)[0].outcome == m.Outcome.DONE


def test_a_file_the_master_does_not_have_is_said_by_name(master: Any, worker: Any) -> None:
    _order(master, "true", spec={"inputs": (_input("gone", b"?"),)})
    master.say(m.BlobStored(master.hear(m.WantBlob).sha256, 0))
    (result,) = master.results(1)
    assert result.outcome == m.Outcome.NOT_STARTED
    assert "the input gone is not on this machine" in result.excerpt


CHANGED_UNSEEN = (
    "chmod u+w f; touch -r f time; printf X | dd of=f conv=notrunc status=none; touch -r time f"
)


@pytest.mark.parametrize("size", [5, 2_000_000], ids=["small", "large"])
def test_a_task_that_changes_its_input_in_place_harms_no_other(
    master: Any, start: Start, size: int
) -> None:
    """Though it leaves size and time of the file as they were."""
    data = b"d" * size
    start(slots=1)
    master.welcome()
    _order(master, CHANGED_UNSEEN, "! grep -q X f", spec={"inputs": (_input("f", data),)})
    _serve(master, data)
    first, second = sorted(master.results(2), key=lambda r: r.task)
    assert first.outcome == m.Outcome.DONE
    assert second.outcome != m.Outcome.FAILED, "it read what was not sent"
    if second.outcome == m.Outcome.NOT_STARTED:
        assert "changed it in place" in second.excerpt


def test_a_large_input_is_verified_once_if_tasks_leave_it_alone(tmp_path: Path) -> None:
    library, data = Library(tmp_path / "library"), os.urandom(2_000_000)
    sha256, _ = library.put([data])
    library._clones = False
    assert library.has(sha256)
    with patch("bats.worker.files.library.digest", side_effect=AssertionError):
        for turn in range(3):
            one, other = str(tmp_path / f"{turn}.1"), str(tmp_path / f"{turn}.2")
            assert library.place(sha256, one, executable=False)
            assert library.place(sha256, other, executable=False)
            assert Path(one).samefile(other), "links"
            library.withdraw(sha256, one, executable=False)
            library.withdraw(sha256, other, executable=False)
            assert not Path(one).exists()


def test_an_input_is_a_tasks_own_where_files_can_be_cloned(tmp_path: Path) -> None:
    library, data = Library(tmp_path / "library"), b"d" * 2_000_000
    sha256, _ = library.put([data])

    def clone(into: int, request: int, source: int) -> None:
        assert request == 0x40049409
        os.write(into, os.pread(source, len(data), 0))

    with patch("fcntl.ioctl", clone):
        assert library.place(sha256, str(tmp_path / "one"), executable=True)
    assert (tmp_path / "one").read_bytes() == data
    assert (tmp_path / "one").stat().st_nlink == 1
    assert os.access(tmp_path / "one", os.X_OK)


@pytest.mark.parametrize("name", ["../up", "/etc/x", "a/../../b"])
def test_no_input_leaves_the_scratch_folder(master: Any, worker: Any, name: str) -> None:
    _order(master, "true", spec={"inputs": (_input(name, b"x"),)})
    _serve(master, b"x")
    (result,) = master.results(1)
    assert result.outcome == m.Outcome.NOT_STARTED
    assert "outside the task's folder" in result.excerpt


def test_outputs_come_back_and_are_let_go_once_stored(
    master: Any, worker: Any, tmp_path: Path
) -> None:
    command = (
        "mkdir -p r/s; echo one > r/1.csv; echo two > r/s/2.csv; echo no > r/x.log;"
        "ln -s /etc/passwd r/p.csv"
    )
    _order(master, command, spec={"outputs": ("r/**/*.csv", "missing")})
    (result,) = master.results(1)
    assert [(name, size) for name, _, size in result.outputs] == [("r/1.csv", 4), ("r/s/2.csv", 4)]
    for (_, sha, size), text in zip(result.outputs, (b"one\n", b"two\n"), strict=True):
        assert _fetch(master, sha, size) == text
        master.say(m.BlobStored(sha, size))
        master.say(m.WantBlob(sha, 0))
        assert master.hear(m.BlobStored).offset == 0, "it is not kept twice"


def test_a_folder_is_collected_with_all_that_is_in_it(master: Any, worker: Any) -> None:
    _order(
        master, "mkdir -p out/a/b; echo 1 > out/a/b/f; echo 2 > out/g", spec={"outputs": ("out",)}
    )
    (result,) = master.results(1)
    assert [name for name, _, _ in result.outputs] == ["out/a/b/f", "out/g"]


def test_outputs_in_a_folder_of_the_users_stay_there(
    master: Any, worker: Any, tmp_path: Path
) -> None:
    _order(master, "echo kept > f", spec={"outputs": ("f",), "cwd": str(tmp_path)})
    (result,) = master.results(1)
    assert [name for name, _, _ in result.outputs] == ["f"]
    assert (tmp_path / "f").read_text() == "kept\n"


def test_only_what_is_done_has_outputs(master: Any, worker: Any) -> None:
    _order(master, "echo 1 > f; exit 1", spec={"outputs": ("f",)})
    (result,) = master.results(1)
    assert (result.outcome, result.outputs) == (m.Outcome.FAILED, ())


def test_without_a_shared_folder_what_was_printed_is_sent_back(master: Any, worker: Any) -> None:
    results = master.run(
        "echo out", "echo err >&2; exit 1", "true", output_folder="/no/such/folder"
    )
    kept = [[(name, _fetch(master, sha, n)) for name, sha, n in r.outputs] for r in results]
    assert kept == [[("stdout", b"out\n")], [("stderr", b"err\n")], []]


def test_a_content_nobody_has_is_answered(master: Any, worker: Any) -> None:
    master.say(m.WantBlob("0" * 64, 0))
    assert master.hear(m.BlobStored) == m.BlobStored("0" * 64, 0)
    master.say(m.WantBlob("../../../etc/passwd", 0))
    assert master.hear(m.BlobStored).offset == 0


@given(
    total=st.integers(0, 40 * CHUNK_BYTES),
    held=st.floats(0, 1),
    losses=st.sets(st.integers(0, 60), max_size=10),
)
def test_whatever_gets_lost_a_download_ends_with_all(
    total: int, held: float, losses: set[int]
) -> None:
    download, asked = Download(total, int(total * held)), list[int]()
    for step in range(100):
        asked += download.ask(float(step))
        assert len(asked) <= UNDER_WAY + 1
        if step in losses:  # the connection, with all that was on its way
            asked.clear()
            download.again()
        elif asked and asked[0] == download.held:
            download.took(min(total, asked.pop(0) + CHUNK_BYTES), float(step))
    assert download.complete
    assert download.held == total
    assert download.ask(1000.0) == []
