"""A task that was stopped is known to take longer than it had: what waits is not taken for average.

When machines leave, it is the long tasks that are under way and have to begin anew.
"""

from statistics import fmean

import numpy as np
import pytest
from helpers.workbench import HOUR, Bench, free, offering, settings

from bats.common.messages import MachineId, Outcome, TaskId
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.brain.learning.regression import Line
from bats.master.brain.protocol.events import Cause, Gone
from bats.master.brain.views.estimate import estimate
from bats.master.brain.views.known_runtimes import known_runtimes
from bats.master.simulate.driver import Simulation
from bats.master.simulate.workloads import WORKLOADS


def one_machine(tasks: int = 4) -> tuple[Bench, int]:
    """It has joined and runs a task."""
    bench = Bench(settings(tasks, free()))
    bench.begin()
    bench.join(1)
    return bench, running(bench)


def running(bench: Bench) -> int:
    [task] = bench.run.pool.machines[MachineId(1)].active
    return task


def test_the_longest_attempt_that_was_stopped_counts_until_the_task_is_done() -> None:
    bench, task = one_machine(tasks=1)
    for attempt, seconds in enumerate((100.0, 40.0), 1):
        bench.end(1, task, Outcome.KILLED, attempt, at=bench.now + seconds)
        assert bench.run.outlasted(TaskId(task)) == 100.0
    bench.done(1, task, attempt=3, at=bench.now + 120.0)
    assert bench.run.outlasted(TaskId(task)) == 0


@pytest.mark.parametrize(("cause", "known"), [(Cause.STOPPED, True), (Cause.FAILED, False)])
def test_of_a_machine_that_broke_nobody_knows_how_long_its_task_ran(
    cause: Cause, known: bool
) -> None:
    bench, task = one_machine()
    bench(Gone(MachineId(1), 50.0, cause), 50.0)
    assert bench.run.outlasted(TaskId(task)) == (50.0 if known else 0)


def test_a_failure_says_nothing_of_how_long_a_task_takes() -> None:
    bench, task = one_machine()
    bench.end(1, task, Outcome.FAILED, at=500.0)
    assert bench.run.outlasted(TaskId(task)) == 0


def test_time_on_a_slow_machine_counts_by_its_speed_though_that_was_not_known_then() -> None:
    slow, fast = offering("slow"), offering("fast")
    bench = Bench(settings(10, slow, fast))
    bench.begin()
    bench.run.stopped(TaskId(3), 0, 100.0)
    bench.run.clusters[0].line = Line(0.0, 4.0)
    assert bench.run.outlasted(TaskId(3)) == 25.0
    bench.run.stopped(TaskId(3), 1, 20.0)
    assert bench.run.outlasted(TaskId(3)) == 25.0
    bench.run.stopped(TaskId(3), 1, 30.0)
    assert bench.run.outlasted(TaskId(3)) == 30.0


def test_a_stopped_task_counts_for_as_many_as_it_is_expected_to_take() -> None:
    bench, task = one_machine(tasks=10)
    for _ in range(4):
        bench.done(1, task, at=bench.now + 10.0)
        task = running(bench)
    before = estimate(bench.run)
    assert before.waiting == 5
    bench.run.stopped(TaskId(next(iter(waiting(bench.run.tasks.states)))), 0, 40.0)
    after = estimate(bench.run)
    assert after.residual.mean > before.residual.mean
    assert after.waiting * after.residual.mean > 5 * before.residual.mean + 40.0
    assert max(known_runtimes(bench.run, bench.run.clusters[0])) > 40.0


def waiting(states: bytearray) -> list[int]:
    return [task for task, state in enumerate(states) if state == TaskState.WAITING]


@pytest.mark.parametrize("kind", ["normal", "multi-modal", "weibull", "bimodal"])
def test_what_was_stopped_takes_longer_than_others_and_as_long_as_expected(kind: str) -> None:
    found = [one for seed in range(12) for one in stopped(kind, seed)]
    assert len(found) >= 20
    expected, true, average = (fmean(column) for column in zip(*found, strict=True))
    assert expected == pytest.approx(true, rel=0.2)
    assert abs(expected - true) < true - average


def stopped(kind: str, seed: int) -> list[tuple[float, float, float]]:
    """Of each task that was stopped: what it should take, what it takes, what others do."""
    true = WORKLOADS[kind].draw(300, np.random.default_rng(seed))
    found: dict[TaskId, tuple[float, float, float]] = {}

    def look(engine: Engine) -> None:
        run = engine.run
        for task in run.tasks.stopped:
            tau = run.outlasted(task)
            assert tau <= true[task] + 1e-6
            if run.tasks.states[task] == TaskState.WAITING and run.phase is Phase.EXECUTING:
                residual = estimate(run).residual
                found[task] = residual.lasts(tau), float(true[task]), residual.mean

    price, hours = 2, float(true.sum()) / HOUR
    offered = offering(price=price, machines=30, atu=HOUR)
    limits = settings(300, offered, budget=round(1.3 * price * hours), seed=seed, prudence=0.0)
    Simulation(limits, lambda task, _: float(true[task]), after_event=look).run()
    return list(found.values())
