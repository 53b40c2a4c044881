"""`bats run` begins its other process at once; other commands begin none."""

import sys

import pytest

from bats.deploy import spare_keeper
from bats.deploy.host.roster import find
from bats.master.cli.beginning import runs

WORKER = (sys.executable, "-m", "bats.worker")


@pytest.mark.parametrize(
    "line",
    [
        "run",
        "run sweep.toml",
        "--state x run -q -p i=1 -- true",
        "--json run a.toml",
        "-q run {} ::: 1",
    ],
)
def test_a_line_that_runs_tasks_is_seen_at_a_glance(line: str) -> None:
    assert runs(line.split())


@pytest.mark.parametrize(
    "line",
    ["", "status", "submit run", "--state run status", "--help", "run --help", "run x --dry-run"],
)
def test_a_line_that_runs_none_is_too(line: str) -> None:
    assert not runs(line.split())


def test_the_process_begun_is_the_one_that_is_taken_once() -> None:
    spare_keeper.begin(WORKER)
    first, second = spare_keeper.taken(WORKER), spare_keeper.taken(WORKER)
    try:
        assert first.pid != second.pid
        assert find(first.pid) is not None
    finally:
        first.close()
        second.close()


def test_one_that_nobody_takes_ends_with_the_command() -> None:
    spare_keeper.begin(WORKER)
    (pid,) = (one.pid for one in spare_keeper._begun)
    spare_keeper.end_unused()
    assert find(pid) is None
