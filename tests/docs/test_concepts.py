"""The policy that the concepts page shows works as printed, from outside the package."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from helpers.pages import blocks

from bats.common.messages import TaskId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.brain.policies.by_name import REPLICATORS
from bats.master.brain.protocol.commands import Command, RunTasks
from bats.master.brain.protocol.settings import Settings
from bats.master.cli.main import main
from bats.master.simulate.driver import Simulation
from bats.master.simulate.workloads import WORKLOADS

pytestmark = pytest.mark.checkout

NAME = "longest-running"
OFFERING = Offering(ClusterName("m1"), money("0.10"), 3600.0, max_machines=6)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """What the page says is run as it stands; it registers the strategy itself."""
    [block] = [one for one in blocks("master/brain/README.md") if one.kind == "python"]
    exec(compile(block.text, block.page, "exec"), {"__name__": "somebody_elses"})
    yield
    del REPLICATORS[NAME]


def simulated(tail: str, look: Callable[[Engine], None] = lambda _engine: None) -> Simulation:
    minutes = WORKLOADS["levy"].draw(60, np.random.default_rng(5))
    simulation = Simulation(
        Settings(60, (OFFERING,), tail=tail),
        lambda task, _cluster: float(minutes[task]),
        keep_events=True,
        after_event=look,
    )
    simulation.run()
    simulation.engine.check()
    return simulation


def copied(commands: list[Command]) -> list[TaskId]:
    """The tasks sent a second time: nothing fails in this world, so they are copies."""
    sent = (one for one in commands if isinstance(one, RunTasks))
    return [task for one in sent for task, attempt in one.orders if attempt > 1]


def test_the_strategy_printed_runs_a_bag_by_its_name() -> None:
    longest: list[set[TaskId]] = []  # running, after each event

    def look(engine: Engine) -> None:
        tasks = engine.run.tasks
        since = {
            task: min(copy.since for copy in copies)
            for task, copies in tasks.running.items()
            if tasks.states[task] == TaskState.RUNNING
        }
        longest.append({task for task in since if since[task] == min(since.values())})

    ours = simulated(NAME, look).history
    assert len(ours.records) == 60
    copies = [copied(commands) for commands in ours.commands]
    assert any(copies)
    for tasks, oldest in zip(copies, longest, strict=True):
        assert set(tasks) <= oldest
    other = simulated("stochastic").history
    assert copies != [copied(commands) for commands in other.commands]


def test_bats_simulate_knows_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "simulate",
        "--runtimes",
        "levy",
        "--tasks",
        "60",
        "--runs",
        "2",
        "--workers",
        "1",
        "--pick",
        "fastest",
    ]
    assert main([*words, "--tail", NAME]) == 0
    assert f"by the strategy {NAME}" in capsys.readouterr().out
