"""Nothing of a worker outlives the worker or its lease, however either ends."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.control_groups import WITHOUT_GROUPS

from bats.common import messages as m
from bats.common.ticket import LEASE_ENDED, to_json

STUBBORN = "trap '' INT TERM HUP; echo $$ >> {pids}; sleep 300 & echo $! >> {pids}; wait; sleep 300"
"""Ignores polite signals, as do its children, one of which leaves the group and the session."""
RUNAWAY = (
    "setsid sh -c 'echo $$ >> {pids}; sleep 300' & echo $$ >> {pids}; trap '' INT TERM; sleep 300"
)


@pytest.fixture
def pids(tmp_path: Path) -> Callable[[int], list[int]]:
    """Waits until so many process ids have been written down by tasks."""

    def wait(count: int) -> list[int]:
        from_file = tmp_path / "pids"
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            lines = from_file.read_text().split() if from_file.exists() else []
            if len(lines) >= count:
                return [int(line) for line in lines]
            time.sleep(0.01)
        raise AssertionError(f"{count} processes did not start")

    return wait


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _all_end(pids: list[int], within_seconds: float) -> None:
    deadline = time.monotonic() + within_seconds
    while living := [pid for pid in pids if _lives(pid)]:
        assert time.monotonic() < deadline, f"{living} still live after {within_seconds} s"
        time.sleep(0.01)


def _order(master: Any, tmp_path: Path, **spec: Any) -> None:
    fill = str(tmp_path / "pids")
    master.order(*(s.replace("{pids}", fill) for s in (STUBBORN, RUNAWAY)), **spec)


def test_killing_the_daemon_leaves_no_orphan(
    master: Any, start: Any, pids: Any, tmp_path: Path
) -> None:
    daemon = start()
    hello = master.welcome()
    _order(master, tmp_path)
    children = pids(4)
    os.kill(hello.pid, signal.SIGKILL)
    _all_end(children, 2.0)
    assert daemon.ends()[0] == 128 + signal.SIGKILL


def test_killing_the_guardian_leaves_no_orphan_either(
    master: Any, start: Any, pids: Any, tmp_path: Path
) -> None:
    daemon = start()
    hello = master.welcome()
    _order(master, tmp_path)
    children = pids(4)
    daemon.process.kill()
    _all_end([hello.pid, *children], 4.0)


@pytest.mark.parametrize("spared", range(3))
def test_killing_any_two_of_the_three_at_once_leaves_no_orphan(
    master: Any, start: Any, pids: Any, tmp_path: Path, spared: int
) -> None:
    daemon = start(power_off=f"touch {tmp_path}/off")
    hello = master.welcome()
    _order(master, tmp_path)
    children = pids(4)
    three = [daemon.process.pid, _parent(hello.pid), hello.pid]
    for pid in three[:spared] + three[spared + 1 :]:
        os.kill(pid, signal.SIGKILL)
    _all_end([*three, *children], 6.0)
    if spared == 0:
        daemon.ends()
        assert (tmp_path / "off").exists(), "what ends the bill is run by the one above"


@pytest.mark.parametrize("under", [(), WITHOUT_GROUPS], ids=["as it is", "without groups"])
def test_killing_all_three_at_once_leaves_no_task_nor_what_is_in_its_group(
    master: Any, start: Any, pids: Any, tmp_path: Path, under: tuple[str, ...]
) -> None:
    daemon = start(under)
    hello = master.welcome(heartbeat_seconds=0.05)
    master.order(STUBBORN.replace("{pids}", str(tmp_path / "pids")))
    children = pids(2)
    master.hear(m.Heartbeat, lambda beat: bool(beat.running))  # it knows what it has started
    for pid in (daemon.process.pid, _parent(hello.pid), hello.pid):
        os.kill(pid, signal.SIGKILL)
    _all_end(children, 2.0)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_frozen_daemon_is_ended_with_its_lease(
    master: Any, start: Any, pids: Any, tmp_path: Path
) -> None:
    daemon = start(power_off=f"touch {tmp_path}/off")
    hello = master.welcome(lease_seconds=2.0)
    _order(master, tmp_path)
    children = pids(4)
    os.kill(hello.pid, signal.SIGSTOP)
    _all_end([hello.pid, *children], 5.0)
    code, log = daemon.ends()
    assert code == LEASE_ENDED
    assert "outlived its lease" in log
    assert (tmp_path / "off").exists()


def test_when_the_master_is_silent_nothing_lives_past_the_lease(
    master: Any, start: Any, pids: Any, tmp_path: Path
) -> None:
    daemon = start(power_off=f"touch {tmp_path}/off")
    hello = master.welcome(lease_seconds=2.0)
    given = time.monotonic()
    _order(master, tmp_path, grace_seconds=60.0)
    children = pids(4)
    _all_end(children, 2.6 - (time.monotonic() - given))  # its guardian lets it be late by 0.5
    assert time.monotonic() - given > 1.0
    code, log = daemon.ends()
    assert (code, (tmp_path / "off").exists()) == (LEASE_ENDED, True)
    assert "lease" in log
    assert not _lives(hello.pid)
    assert {r.outcome for r in master.results(2, acknowledge=False)} == {m.Outcome.KILLED}


def test_a_frozen_worker_notices_when_it_continues(
    master: Any, start: Any, pids: Any, tmp_path: Path
) -> None:
    daemon = start()
    hello = master.welcome(lease_seconds=1.5)
    _order(master, tmp_path)
    pids(4)
    guardians = (daemon.process.pid, _parent(hello.pid))
    for pid in (*guardians, hello.pid):  # all: else a guardian would act
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2.0)
    os.kill(hello.pid, signal.SIGCONT)
    _all_end(pids(4), 1.0)
    for pid in guardians:
        os.kill(pid, signal.SIGCONT)
    assert daemon.ends()[0] == LEASE_ENDED


def test_a_renewed_lease_lets_the_worker_live(master: Any, start: Any) -> None:
    daemon = start()
    master.welcome(lease_seconds=1.0)
    for _ in range(8):
        master.say(m.Lease(1.0))
        master.turn(300)
    assert master.run("true")[0].outcome == m.Outcome.DONE
    assert daemon.process.poll() is None


def test_a_worker_that_never_finds_its_master_ends_with_its_first_lease(start: Any) -> None:
    daemon = start(lease_seconds=1.0, master=("tcp://127.0.0.1:9",))
    code, log = daemon.ends()
    assert code == LEASE_ENDED
    assert "the lease ran out" in log


def test_a_worker_that_cannot_even_log_powers_its_machine_off(master: Any, tmp_path: Path) -> None:
    off = tmp_path / "off"
    ticket = master.ticket(
        lease_seconds=1.0, state_folder=str(tmp_path / "state"), power_off=f"touch {off}"
    )
    with Path("/dev/full").open("w") as full:
        argv = [sys.executable, "-m", "bats.worker", "--ticket", "-"]
        ended = subprocess.run(
            argv, input=to_json(ticket), text=True, stderr=full, check=False, timeout=30
        )
    assert (ended.returncode, off.exists()) == (LEASE_ENDED, True)


def test_the_first_lease_counts_from_the_machines_first_process(
    master: Any, tmp_path: Path
) -> None:
    """That is charged while the rest still loads."""
    ticket = master.ticket(
        lease_seconds=5.0, state_folder=str(tmp_path / "state"), master=("tcp://127.0.0.1:9",)
    )
    slow = (
        "import sys, time; time.sleep(4); "
        "from bats.worker.command_line import main; sys.exit(main())"
    )
    argv = [sys.executable, "-c", slow, "--ticket", "-"]
    began = time.monotonic()
    ended = subprocess.run(argv, input=to_json(ticket), text=True, check=False, timeout=30)
    assert ended.returncode == LEASE_ENDED
    assert time.monotonic() - began < 8.8  # 9 if it counted from then on


def test_kill_escalates_from_interrupt_to_kill(master: Any, worker: Any, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    command = (
        f"trap 'echo INT >> {noted}' INT; trap 'echo TERM >> {noted}' TERM; "
        f"echo up >> {noted}; while :; do sleep 0.02; done"
    )
    master.order(command, grace_seconds=0.3)
    while not (noted.exists() and noted.read_text()):
        time.sleep(0.01)
    master.say(m.Kill((m.AttemptId(m.BagId(1), m.TaskId(0), 1),)))
    (result,) = master.results(1)
    assert (result.outcome, result.exit_code) == (m.Outcome.KILLED, -signal.SIGKILL)
    assert noted.read_text().split() == ["up", "INT", "TERM"]


def test_a_killed_task_takes_along_what_left_its_group(
    master: Any, worker: Any, pids: Any, tmp_path: Path
) -> None:
    _order(master, tmp_path, grace_seconds=0.2)
    children = pids(4)
    master.say(m.Kill(tuple(m.AttemptId(m.BagId(1), m.TaskId(n), 1) for n in range(2))))
    master.results(2)
    _all_end(children, 1.0)
    assert master.run("true")[0].outcome == m.Outcome.DONE


def test_a_task_over_its_time_is_timed_out(master: Any, worker: Any) -> None:
    (result,) = master.run("sleep 60", timeout_seconds=0.2, grace_seconds=0.1)
    assert result.outcome == m.Outcome.TIMED_OUT
    assert 0.2 <= result.wall_seconds < 5


def test_what_waits_behind_a_long_task_is_returned(master: Any, worker: Any) -> None:
    master.order("sleep 60", "sleep 60", "true")
    returned = master.hear(m.Returned)
    assert [a.task for a in returned.attempts] == [2]
    master.say(
        m.Kill((m.AttemptId(m.BagId(1), m.TaskId(0), 1), m.AttemptId(m.BagId(1), m.TaskId(1), 1)))
    )
    assert {r.outcome for r in master.results(2)} == {m.Outcome.KILLED}


def test_a_killed_order_that_waits_is_answered(master: Any, worker: Any) -> None:
    master.order("sleep 60", "sleep 60", "true")
    master.say(m.Kill(tuple(m.AttemptId(m.BagId(1), m.TaskId(t), 1) for t in range(3))))
    assert [(r.task, r.outcome) for r in sorted(master.results(3))] == [
        (t, m.Outcome.KILLED) for t in range(3)
    ]


@pytest.mark.parametrize("how", ["Stop", "SIGTERM", "SIGINT"])
def test_asked_to_stop_it_ends_tasks_reports_them_and_says_goodbye(
    master: Any, start: Any, pids: Callable[[int], list[int]], tmp_path: Path, how: str
) -> None:
    daemon = start()
    hello = master.welcome()
    begins = f"echo $$ >> {shlex.quote(str(tmp_path / 'pids'))}; sleep 60"
    master.order(begins, begins, "true")  # the third waits behind them
    pids(2)
    if how == "Stop":
        master.say(m.Stop("the hour is over"))
    else:
        daemon.process.send_signal(getattr(signal, how))
    assert [a.task for a in master.hear(m.Returned).attempts] == [2]
    assert {r.outcome for r in master.results(2)} == {m.Outcome.KILLED}
    assert ("the hour is over" if how == "Stop" else how) in master.hear(m.Goodbye).reason
    assert daemon.ends()[0] == 0
    assert not _lives(hello.pid)
