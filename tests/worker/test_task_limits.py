"""Attempts are held to the memory and the processes that their sweep allows them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.control_groups import WITHOUT_GROUPS

from bats.common import messages as m
from bats.worker.control_groups import Groups
from bats.worker.tasks.limits import limits_of

MIB = 1 << 20
TAKES = "exec python3 -c \"import time; kept = b'x' * ({} << 20); time.sleep({})\""


def spec(**limits: int) -> m.BagSpec:
    return m.BagSpec(m.BagId(1), (), command="true", **limits)


@pytest.fixture
def watching(master: Any, start: Callable[..., Any]) -> None:
    """A worker whose machine has no control groups."""
    start(WITHOUT_GROUPS)
    assert master.welcome().limits == m.LIMITS_WATCHED


@pytest.mark.usefixtures("watching")
def test_a_task_that_takes_more_than_its_memory_has_failed_and_says_so(master: Any) -> None:
    words = "echo begun >&2; " + TAKES.format(200, 300)
    (result,) = master.run(words, memory_bytes=100 * MIB)
    assert result.outcome == m.Outcome.FAILED
    assert result.excerpt == "begun\nkilled: it used more than its 100 MB of memory"
    assert result.wall_seconds < 30


@pytest.mark.usefixtures("watching")
def test_memory_of_a_tasks_children_counts_and_what_they_share_counts_once(master: Any) -> None:
    child = TAKES.format(70, 3).replace("exec ", "")
    both = f"{child} & setsid {child} & wait"
    (result,) = master.run(both, memory_bytes=100 * MIB)
    assert "more than its 100 MB of memory" in result.excerpt
    forks = (
        "exec python3 -c \"import os, time; kept = b'x' * (70 << 20); os.fork(); time.sleep(3)\""
    )
    assert master.run(forks, memory_bytes=100 * MIB)[0].outcome == m.Outcome.DONE


@pytest.mark.usefixtures("watching")
def test_a_task_that_starts_more_processes_than_it_may_is_killed(master: Any) -> None:
    many = "for i in 1 2 3 4 5 6; do sleep 300 & done; wait"
    (result,) = master.run(many, pids=4)
    assert result.outcome == m.Outcome.FAILED
    assert result.excerpt == "killed: it ran 7 processes and threads, and may 4"
    assert master.run("sleep .1 & wait", pids=4)[0].outcome == m.Outcome.DONE


def test_a_task_with_limits_is_not_killed_when_one_without_ends(
    master: Any, start: Callable[..., Any]
) -> None:
    """Where groups know no limits, its processes once went into the group of whoever came next."""
    start(slots=4)
    master.welcome()
    limited = m.BagSpec(m.BagId(1), (), command="sleep 1; echo whole", memory_bytes=1 << 30)
    free = m.BagSpec(m.BagId(2), (), command="sleep .2")
    orders = [tuple(m.Order(m.TaskId(task), 1, ()) for task in range(count)) for count in (2, 4)]
    master.say(limited, m.Run(m.BagId(1), orders[0]), free, m.Run(m.BagId(2), orders[1]))
    told = master.results(6)
    assert [one.excerpt for one in told if one.bag == 1] == ["whole"] * 2, told
    assert {one.outcome for one in told} == {m.Outcome.DONE}


def test_a_bag_without_limits_has_none(tmp_path: Path) -> None:
    assert limits_of(spec(), Groups(tmp_path, frozenset({"memory", "pids"})), 0) is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Like the kernel's, as far as writing and reading go."""
    (tmp_path / "cgroup.subtree_control").touch()
    return tmp_path


def enforced(folder: Path, monkeypatch: pytest.MonkeyPatch, **asked: int) -> tuple[Any, Path]:
    made = folder / "3.1"
    mkdir = Path.mkdir

    def with_files(path: Path, **how: Any) -> None:
        mkdir(path, **how)
        for name in ("cgroup.procs", "cgroup.events", "cgroup.kill"):
            (path / name).touch()

    monkeypatch.setattr(Path, "mkdir", with_files)
    groups = Groups(folder, frozenset({"memory", "pids"}))
    limits = limits_of(spec(**asked), groups, 3)
    assert limits is not None
    return limits, made


def test_limits_are_written_into_a_group_of_the_attempts_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, made = enforced(folder, monkeypatch, memory_bytes=2 << 30, pids=50)
    assert (folder / "cgroup.subtree_control").read_text() == "+memory +pids"
    held = {name: (made / name).read_text() for name in ("memory.max", "memory.oom.group")}
    assert held == {"memory.max": str(2 << 30), "memory.oom.group": "1"}
    assert (made / "memory.swap.max").read_text() == "0"
    assert (made / "pids.max").read_text() == "50"
    assert limits.before[-1] == f"{made}/cgroup.procs"


def test_what_is_not_asked_for_is_not_limited(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, made = enforced(folder, monkeypatch, pids=50)
    assert not (made / "memory.max").exists()


def test_the_kernels_count_tells_why_an_attempt_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, made = enforced(folder, monkeypatch, memory_bytes=2 << 30, pids=50)
    assert limits.refused() == ""
    (made / "pids.events").write_text("max 3\n")
    assert limits.refused() == "not started: one more than its 50 processes and threads"
    (made / "memory.events").write_text("low 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 1\n")
    assert limits.refused() == "killed: it used more than its 2 GB of memory"


def test_where_the_kernel_keeps_only_some_limits_all_are_looked_at(tmp_path: Path) -> None:
    limits = limits_of(spec(memory_bytes=1, pids=5), Groups(tmp_path, frozenset({"pids"})), 0)
    assert limits is not None
    assert limits.before == ()
    assert "more than its 1 B of memory" in limits.look(os.getsid(0))
