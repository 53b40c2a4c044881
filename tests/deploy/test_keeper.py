"""The process above workers writes down how each ended, even when it cannot do so at once."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from helpers.waiting import until

from bats.common.messages import MachineId
from bats.deploy.host.roster import Roster, find
from bats.deploy.protocol import Gone, State

LIMIT_SECONDS = 60.0


wait_for = partial(until, seconds=LIMIT_SECONDS)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[socket.socket]:
    """A keeper that takes tickets, for workers that only sleep."""
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-P", "-m", "bats.deploy.host.keeper", str(tmp_path), "--"]
    argv += ["sh", "-c", "exec sleep 600"]
    with theirs:
        subprocess.run(argv, stdin=theirs.fileno(), stdout=theirs.fileno(), check=True)
    with ours:
        yield ours


def start_worker(roster: Roster, keeper: socket.socket) -> int:
    """Its process id."""
    keeper.sendall(b'{"machine": 7}\n')
    with keeper.makefile("rb") as heard:
        assert json.loads(heard.readline()) == {"machine": 7, "error": ""}
    seen = roster.look(MachineId(7))
    assert seen.state is State.UP
    return int(seen.address.split()[1])


def test_a_keeper_whose_folder_was_deleted_ends_with_its_last_worker(
    tmp_path: Path, keeper: socket.socket
):
    roster = Roster(tmp_path)
    worker = start_worker(roster, keeper)
    entry = json.loads((roster.of(MachineId(7)) / "process.json").read_text())
    pid = int(entry["keeper"][0])
    shutil.rmtree(tmp_path)
    keeper.close()
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: find(pid) is None)


def test_an_end_that_cannot_be_written_is_written_later_with_the_time_it_had(
    tmp_path: Path, keeper: socket.socket
):
    roster, machine = Roster(tmp_path), MachineId(7)
    began = time.monotonic()
    worker = start_worker(roster, keeper)
    folder, away = roster.of(machine), tmp_path / "away"
    folder.rename(away)  # as when the disk is full: nothing can be written there
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: "cannot write" in (tmp_path / "keeper.log").read_text())
    ended = time.monotonic()
    wait_for(lambda: time.monotonic() > ended + 1.0)
    away.rename(folder)
    wait_for(lambda: roster.look(machine).state is State.GONE)
    seen = roster.look(machine)
    assert seen.gone is Gone.FAILED
    assert "SIGKILL" in seen.detail
    assert seen.charged_seconds is not None
    assert seen.charged_seconds <= ended - began, "the bill stood still from its end on"


def test_a_machine_that_could_not_be_written_down_is_started_anew_as_if_it_had_never_been(
    tmp_path: Path, keeper: socket.socket
):
    roster, machine = Roster(tmp_path), MachineId(7)
    keeper.sendall(b'{"machine": 6}\n')
    with keeper.makefile("rb") as heard:
        heard.readline()
        entry = json.loads((roster.of(MachineId(6)) / "process.json").read_text())
        pid = entry["keeper"][0]
        obstacle = roster.of(machine) / f"process.json.{pid}"
        obstacle.mkdir(parents=True)  # as when the disk is full
        keeper.sendall(b'{"machine": 7}\n')
        assert json.loads(heard.readline())["error"].startswith("IsADirectoryError")
    children = Path(f"/proc/{pid}/task/{pid}/children")
    wait_for(lambda: len(children.read_text().split()) == 1)
    time.sleep(0.2)  # for what the keeper may write of it
    obstacle.rmdir()
    start_worker(roster, keeper)
    assert roster.look(machine).state is State.UP
