"""A host's roster tells the living from the dead, and never takes one process for another."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bats.common.messages import MachineId
from bats.common.ticket import LEASE_ENDED
from bats.deploy.host.roster import KEPT_SECONDS, Process, Roster, find
from bats.deploy.protocol import Gone, State

M1 = MachineId(1)


def me() -> Process:
    found = find(os.getpid())
    assert found
    return found


@pytest.fixture
def roster(tmp_path: Path) -> Roster:
    (tmp_path / "1").mkdir()
    return Roster(tmp_path)


@pytest.fixture
def sleeper() -> Iterator[Process]:
    with subprocess.Popen(["sleep", "600"]) as running:
        found = find(running.pid)
        assert found
        yield found
        running.kill()


def test_a_running_worker_is_up_and_charged_since_it_started(
    roster: Roster, sleeper: Process
) -> None:
    roster.enter(M1, sleeper, me())
    seen = roster.look(M1)
    assert seen.state is State.UP
    assert seen.charged_seconds is not None
    assert 0 <= seen.charged_seconds < 60
    assert roster.living() == [M1]


@pytest.fixture
def no_descriptors() -> Iterator[None]:
    """This process may open nothing more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_nobody_is_gone_because_nothing_can_be_read(
    roster: Roster, sleeper: Process, request: pytest.FixtureRequest
) -> None:
    roster.enter(M1, sleeper, me())
    request.getfixturevalue("no_descriptors")
    for ask in (lambda: roster.look(M1), sleeper.lives, roster.living):
        with pytest.raises(OSError, match="Too many open files"):
            ask()


def test_a_worker_whose_guardian_was_killed_is_gone_when_its_daemon_has_ended_too(
    roster: Roster, sleeper: Process
) -> None:
    roster.enter(M1, replace(sleeper, start_ticks=0), replace(me(), start_ticks=0))
    roster.state(M1).mkdir()
    with (roster.state(M1) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert roster.look(M1).state is State.STOPPING
        bill = roster.look(M1).charged_seconds
        assert roster.living() == []
        note = roster.of(M1) / "ended.json"
        os.utime(note, (time.time() - 60, time.time() - 60))
        assert roster.look(M1).state is State.GONE  # one that is frozen would never end
        note.touch()
        assert roster.look(M1).state is State.STOPPING
    seen = roster.look(M1)
    assert (seen.state, seen.charged_seconds) == (State.GONE, bill)


def test_another_process_with_its_id_is_not_the_worker(roster: Roster, sleeper: Process) -> None:
    earlier = replace(sleeper, start_ticks=sleeper.start_ticks - 100)
    roster.enter(M1, earlier, replace(me(), start_ticks=0))
    assert roster.look(M1).state is State.GONE
    roster.stop([M1], grace_seconds=0.0)
    assert sleeper.lives()


def test_after_a_reboot_nothing_of_before_lives(roster: Roster, sleeper: Process) -> None:
    roster.enter(M1, replace(sleeper, boot="another"), replace(me(), boot="another"))
    assert roster.living() == []
    assert roster.look(M1).gone is Gone.FAILED


@pytest.mark.parametrize(
    ("code", "gone", "detail"),
    [
        (0, Gone.STOPPED, ""),
        (LEASE_ENDED, Gone.EXPIRED, "lease"),
        (-9, Gone.FAILED, "ended by SIGKILL\nlast words"),
        (137, Gone.FAILED, "ended by SIGKILL\nlast words"),
        (4, Gone.FAILED, "exit code 4\nlast words"),
        (None, Gone.FAILED, "nobody saw how\nlast words"),
    ],
)
def test_how_it_ended_says_why_it_is_gone(
    roster: Roster, code: int | None, gone: Gone, detail: str
) -> None:
    (roster.of(M1) / "log").write_text("last words\n")
    roster.enter(M1, replace(me(), start_ticks=0), me())
    roster.ended(M1, code, 12.5)
    seen = roster.look(M1)
    assert (seen.state, seen.gone, seen.charged_seconds) == (State.GONE, gone, 12.5)
    assert detail in seen.detail


def test_when_nobody_saw_the_end_the_bill_stands_still_from_the_first_look(
    roster: Roster,
) -> None:
    dead = replace(me(), start_ticks=me().start_ticks - 1)
    roster.enter(M1, dead, replace(me(), start_ticks=0))
    first = roster.look(M1)
    noted = json.loads((roster.of(M1) / "ended.json").read_text())
    assert first.charged_seconds == noted["charged_seconds"]
    assert roster.look(M1) == first


def test_one_that_does_not_heed_sigterm_is_killed(roster: Roster) -> None:
    with subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], stdout=subprocess.PIPE
    ) as stubborn:
        assert stubborn.stdout
        stubborn.stdout.readline()
        found = find(stubborn.pid)
        assert found
        roster.enter(M1, found, me())
        roster.stop([M1], grace_seconds=0.2)
        assert stubborn.wait() == -9
    assert roster.look(M1).state is State.STOPPING  # until its keeper says how and when it ended
    roster.ended(M1, -9, 0.3)
    assert roster.look(M1).gone is Gone.STOPPED


def test_what_is_frozen_below_one_that_is_killed_does_not_stay(roster: Roster) -> None:
    with subprocess.Popen(
        ["sh", "-c", "trap '' TERM; sleep 600 & echo $!; while :; do wait; done"],
        stdout=subprocess.PIPE,
    ) as stubborn:
        assert stubborn.stdout
        below = find(int(stubborn.stdout.readline()))
        found = find(stubborn.pid)
        assert below
        assert found
        os.kill(below.pid, signal.SIGSTOP)
        roster.enter(M1, found, me())
        roster.stop([M1], grace_seconds=0.2)
    assert not below.lives()


def test_what_ended_long_ago_is_forgotten_and_the_rest_kept(
    roster: Roster, sleeper: Process
) -> None:
    for number in (2, 3):
        roster.of(MachineId(number)).mkdir()
        roster.ended(MachineId(number), 0, 1.0)
    roster.enter(M1, sleeper, me())
    long_ago = time.time() - 2 * KEPT_SECONDS
    os.utime(roster.of(MachineId(2)) / "ended.json", (long_ago, long_ago))
    roster.forget_old()
    assert roster.machines() == [M1, MachineId(3)]
