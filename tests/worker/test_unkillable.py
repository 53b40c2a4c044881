"""A process that cannot be killed holds nothing up: not a result, a machine's end or its power-off.

A worker that may not kill other users' processes meets a task that becomes another user's.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bats.common import messages as m
from bats.common.ticket import LEASE_ENDED

CANNOT_KILL = ("setpriv", "--bounding-set", "-kill")
ANOTHER_USERS = "exec setpriv --reuid=65534 --clear-groups sh -c 'echo $$ > {pid}; exec sleep 300'"
BEHIND = "setpriv --reuid=65534 --clear-groups sh -c 'echo $$ > {pid}; exec sleep 300' & sleep 300"
WITHIN_SECONDS = 10.0

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
