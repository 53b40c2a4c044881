"""A process that cannot be killed holds nothing up: not a result, a machine's end or its power-off.

A worker that may not kill other users' processes, nor has control groups, meets a task that becomes
another user's and closes the file by which the kernel would know it.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.control_groups import WITHOUT_GROUPS
from helpers.service import eventually

from bats.common import messages as m
from bats.common.ticket import LEASE_ENDED
from bats.worker.files.exchange import Files
from bats.worker.tasks.attempts import Runner

CANNOT_KILL = (*WITHOUT_GROUPS, "setpriv", "--bounding-set", "-kill")
_ANOTHER_USERS = (
    "setpriv --reuid=65534 --clear-groups bash -c 'exec 63>&-; echo $$ > {pid}; exec sleep 300'"
)
ANOTHER_USERS = f"exec {_ANOTHER_USERS}"
BEHIND = f"setsid {_ANOTHER_USERS} & sleep 300"
WITHIN_SECONDS = 10.0
GUARDED = """
import os, time
from bats.worker.guardian import Lifeline, watch_over

def daemon(lifeline):
    lifeline.lease_ends(time.clock_gettime(time.CLOCK_BOOTTIME) + 0.2)
    print(os.getpid(), flush=True)
    os.setresuid(65534, 65534, 65534)
    os.close(1)
    os.close(2)
    time.sleep(300)

raise SystemExit(watch_over(daemon, Lifeline(os.getpid(), (), ()), 0.5))
"""

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("setpriv") is None, reason="only root can make such a process"
)


@pytest.fixture
def noted() -> Iterator[Path]:
    """Where the process writes its number, whoever it is; it is ended with the test."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        note = Path(folder) / "pid"
        yield note
        with contextlib.suppress(ProcessLookupError):  # the kernel may have, with the daemon's end
            os.kill(int(note.read_text()), signal.SIGKILL)


def begin(master: Any, task: str, noted: Path, **spec: Any) -> None:
    master.order(task.replace("{pid}", str(noted)), grace_seconds=0.1, **spec)
    deadline = time.monotonic() + 20
    while not (noted.exists() and noted.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("task", [ANOTHER_USERS, BEHIND])
def test_a_worker_that_is_asked_to_stop_says_what_stays_and_powers_its_machine_off(
    master: Any, start: Callable[..., Any], tmp_path: Path, noted: Path, task: str
) -> None:
    off = tmp_path / "off"
    daemon = start(CANNOT_KILL, power_off=f"touch {off}")
    master.welcome()
    begin(master, task, noted)
    began = time.monotonic()
    master.say(m.Stop("the hour is over"))
    (result,) = master.results(1)
    assert result.outcome == m.Outcome.KILLED
    master.hear(m.Goodbye)
    code, log = daemon.ends()
    assert time.monotonic() - began < WITHIN_SECONDS
    assert (code, off.exists()) == (0, True)
    assert f"could not be killed and live on: {noted.read_text().strip()}" in log


def test_with_its_lease_the_machine_is_powered_off_whatever_lives_on(
    master: Any, start: Callable[..., Any], tmp_path: Path, noted: Path
) -> None:
    off = tmp_path / "off"
    daemon = start(CANNOT_KILL, power_off=f"touch {off}")
    master.welcome(lease_seconds=4.0)
    begin(master, ANOTHER_USERS, noted)
    began = time.monotonic()
    assert (daemon.ends()[0], off.exists()) == (LEASE_ENDED, True)
    assert time.monotonic() - began < 4.0 + WITHIN_SECONDS


def test_a_daemon_that_cannot_be_killed_does_not_keep_its_guardian_past_the_lease() -> None:
    """It hangs in the kernel, say; here it has become another user's."""
    ended = subprocess.run(
        [*CANNOT_KILL, sys.executable, "-c", GUARDED],
        check=False,
        capture_output=True,
        text=True,
        timeout=WITHIN_SECONDS,
    )
    os.kill(daemon := int(ended.stdout), signal.SIGKILL)
    assert ended.returncode == LEASE_ENDED
    assert f"could not be killed and live on: {daemon}" in ended.stderr


def test_a_task_over_its_time_that_cannot_be_ended_is_told_and_the_machine_ends(
    master: Any, start: Callable[..., Any], noted: Path
) -> None:
    daemon = start(CANNOT_KILL)
    master.welcome()
    begin(master, ANOTHER_USERS, noted, timeout_seconds=0.5)
    (result,) = master.results(1)
    assert result.outcome == m.Outcome.TIMED_OUT
    assert "could not be killed and lives on" in result.excerpt
    assert "could not be killed" in master.hear(m.Goodbye).reason
    assert daemon.ends()[0] == 0


async def test_a_cancelled_task_whose_files_hang_on_their_disk_is_told_all_the_same(
    tmp_path: Path,
) -> None:
    told: asyncio.Queue[m.Result] = asyncio.Queue()
    hangs = threading.Event()
    files = Files(tmp_path / "files", lambda _: None, lambda _: None, list)
    files.outputs.collect = lambda *_, **__: hangs.wait() and ()  # type: ignore[method-assign]
    runner = Runner(1, tmp_path / "slots", 1.0, files, told.put_nowait, print, print)
    try:
        runner.learn(m.BagSpec(m.BagId(1), (), command="touch out", outputs=("out",)))
        runner.run(m.BagId(1), [m.Order(m.TaskId(0), 1, ())])
        await eventually(lambda: runner.desk.finishing)
        runner.kill([attempt := m.AttemptId(m.BagId(1), m.TaskId(0), 1)])
        result = await asyncio.wait_for(told.get(), WITHIN_SECONDS)
        assert (result[:3], result.outcome) == (attempt, m.Outcome.KILLED)
        assert result.excerpt == "cancelled while its output files were being collected"
        assert runner.idle.is_set()
        runner.run(m.BagId(1), [m.Order(m.TaskId(1), 1, ())])  # the slot is free for others
        await eventually(lambda: runner.desk.finishing)
    finally:
        hangs.set()
        await asyncio.wait_for(runner.idle.wait(), WITHIN_SECONDS)
        runner.close()
    assert told.qsize() == 1  # of the second; the first is not told again
