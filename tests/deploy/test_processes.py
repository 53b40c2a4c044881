"""Commands end in time, with what they said, and nothing of them stays."""

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest

from bats.deploy import processes
from bats.deploy.host.roster import find
from bats.deploy.protocol import BusyError, RefusedError
from bats.deploy.testing import eventually


async def ended(pid: int) -> None:
    """Killed, a process closes its files first, and is gone a moment later."""
    await eventually(partial(asyncio.to_thread, find, pid), lambda found: not found, 10, "it ended")


async def test_what_a_command_says_comes_back_with_its_exit_code() -> None:
    done = await processes.run(
        "sh", "-c", "cat; echo why >&2; exit 3", limit_seconds=10, stdin=b"x"
    )
    assert (done.code, done.stdout, done.stderr) == (3, "x", "why\n")
    assert done.complaint == "why"


async def test_commands_speak_english() -> None:
    done = await processes.run("sh", "-c", "echo $LC_ALL", limit_seconds=10)
    assert done.stdout == "C\n"


async def test_a_missing_command_is_refused_by_name() -> None:
    with pytest.raises(RefusedError, match="`sbatchx` cannot be run"):
        await processes.run("sbatchx", limit_seconds=10)


async def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    started = time.monotonic()
    with pytest.raises(BusyError, match=r"did not answer within 0\.5 s"):
        await processes.run("sh", "-c", f"sleep 600 & echo $! > {note}; wait", limit_seconds=0.5)
    assert time.monotonic() - started < 10
    await ended(int(note.read_text()))


async def test_cancelling_kills_it_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    command = f"echo $$ > {note}.part; mv {note}.part {note}; exec sleep 600"
    running = asyncio.create_task(processes.run("sh", "-c", command, limit_seconds=600))
    await eventually(partial(asyncio.to_thread, note.exists), bool, 10, "it runs")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await ended(int(note.read_text()))
