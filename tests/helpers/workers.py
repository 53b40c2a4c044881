"""Workers that are processes of this computer: those of the masters below a folder."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from bats.deploy.host.roster import Process
from bats.master.service.home import WORKER

ByHand = Callable[[Path, int], AbstractContextManager[None]]


@pytest.fixture
def by_hand(tmp_path: Path) -> ByHand:
    """A worker that its user starts, for the master of a state folder, with so many slots."""

    @contextmanager
    def start(state: Path, slots: int) -> Iterator[None]:
        command = [sys.executable, "-m", "bats.worker", "--access", str(state / WORKER)]
        command += ["--slots", str(slots), "--folder", str(tmp_path / "worker")]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as worker:
            try:
                yield
            finally:
                worker.terminate()

    return start


def workers_in(folder: Path) -> dict[int, int]:
    """Process id of the worker (its guardian) by machine number, of those that live."""
    found = {}
    for path in (
        Path(at, "process.json") for at, _, names in os.walk(folder) if "process.json" in names
    ):
        with contextlib.suppress(OSError):  # it may go while we look
            worker = Process(*json.loads(path.read_text())["worker"])
            if worker.lives():
                found[int(path.parent.name)] = worker.pid
    return found


def end_workers(folder: Path) -> None:
    """With all that they run; they would wait for another master until their lease ends."""
    for pid in workers_in(folder).values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGKILL)


def daemon_of(guardian: int) -> int:
    """The process that works, below two guardians."""
    return _child(_child(guardian))


def _child(pid: int) -> int:
    """The one that is a worker's; the shell beside it only looks after their control group."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next(int(one) for one in children if Path(f"/proc/{one}/comm").read_text() != "sh\n")


def processes_of(folder: Path | str) -> list[str]:
    """Everything that runs with this folder in its command line or environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            seen = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in seen:
            found.append(f"{process.name} {seen[:200]!r}")
    return found
