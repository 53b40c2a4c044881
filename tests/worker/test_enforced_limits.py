"""The kernel holds attempts to their limits: run by `test_in_a_kernel.py` on a Linux that can."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bats.common import messages as m

MIB = 1 << 20
TAKES = "exec python3 -c \"kept = b'x' * ({} << 20)\""

pytestmark = pytest.mark.skipif(
    "MINE" not in os.environ, reason="by design: run on a kernel of the test beds"
)


UNIT = Path("/sys/fs/cgroup/unit")
_IN_UNIT = f"""\
echo +memory +pids > {UNIT.parent}/cgroup.subtree_control
mkdir {UNIT} && chown -R nobody {UNIT} && echo 0 > {UNIT}/cgroup.procs && exec "$@"\
"""
IN_UNIT = ("sh", "-c", _IN_UNIT, "sh")
"""Started as a service is: alone in a group that is handed over to it."""


_READS = "-caps=+dac_read_search"  # its Python may lie where only root reads
AS_USER = ("setpriv", "--reuid=nobody", "--clear-groups", f"--inh{_READS}", f"--ambient{_READS}")


@pytest.fixture
def joined(master: Any, start: Callable[..., Any]) -> Any:
    daemon = start()
    assert master.welcome().limits == m.LIMITS_ENFORCED
    return daemon


@pytest.mark.parametrize("as_user", [(), AS_USER])
def test_alone_in_its_unit_a_worker_moves_aside_for_limits_and_leaves_nothing(
    master: Any, start: Callable[..., Any], tmp_path: Path, as_user: tuple[str, ...]
) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)
    daemon = start((*IN_UNIT, *as_user))
    assert master.welcome().limits == m.LIMITS_ENFORCED
    (result,) = master.run(TAKES.format(200), memory_bytes=60 * MIB)
    assert "more than its 60 MB of memory" in result.excerpt
    daemon.process.terminate()
    assert daemon.ends()[0] == 0
    UNIT.rmdir()  # the kernel refuses if anything is left below


@pytest.mark.usefixtures("joined")
def test_a_task_that_takes_more_than_its_memory_is_killed_before_it_has_it(master: Any) -> None:
    (result,) = master.run("echo begun >&2; " + TAKES.format(200), memory_bytes=60 * MIB)
    assert result.outcome == m.Outcome.FAILED
    assert result.excerpt == "begun\nkilled: it used more than its 60 MB of memory"
    assert result.peak_kib < 80 << 10


@pytest.mark.usefixtures("joined")
def test_all_of_a_task_ends_when_a_child_takes_too_much(master: Any) -> None:
    child = TAKES.format(200).replace("exec ", "setsid ")
    (result,) = master.run(f"{child}; echo lives on", memory_bytes=60 * MIB)
    assert "more than its 60 MB" in result.excerpt
    assert "lives on" not in result.excerpt


@pytest.mark.usefixtures("joined")
def test_a_task_within_its_memory_is_done_and_the_next_has_all_of_it_again(master: Any) -> None:
    for _ in range(2):
        (result,) = master.run(TAKES.format(40), memory_bytes=60 * MIB)
        assert result.outcome == m.Outcome.DONE


@pytest.mark.usefixtures("joined")
def test_a_task_gets_no_more_processes_than_it_may_have(master: Any) -> None:
    many = "for i in 1 2 3 4 5 6; do sleep 1 & done; wait"
    (result,) = master.run(many, pids=4)
    assert result.outcome == m.Outcome.FAILED
    assert "not started: one more than its 4 processes and threads" in result.excerpt


@pytest.mark.usefixtures("joined")
def test_a_program_that_is_not_there_is_told_as_without_limits(master: Any) -> None:
    for argv, said in (("nowhere",), "there is no program `nowhere`"), (("/x",), "no program /x"):
        (result,) = master.run("", command="", argv=argv, pids=9)
        assert result.outcome == m.Outcome.NOT_STARTED
        assert said in result.excerpt
