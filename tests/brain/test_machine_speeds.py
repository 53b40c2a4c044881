"""How machines of a kind differ, told apart from what their tasks do."""

import numpy as np
import pytest

from bats.master.brain.learning.machine_speeds import Worked, slowness
from bats.master.brain.learning.step_profiles import StepProfiles


def machines(spread: float, tasks: int, sigma: float, count: int = 400) -> list[Worked]:
    rng = np.random.default_rng(1)
    slow = rng.normal(1.0, spread, count)
    return [Worked(tasks, float((one * rng.normal(10, sigma, tasks)).sum())) for one in slow]


@pytest.mark.parametrize("tasks", [4, 20, 200])
def test_machines_that_do_not_differ_are_told_to_be_alike_however_few_tasks_tell(
    tasks: int,
) -> None:
    assert np.std(slowness(machines(0.0, tasks, sigma=4.0), 4.0)) < 0.03


@pytest.mark.parametrize("spread", [0.1, 0.3])
def test_machines_that_differ_are_told_by_how_much(spread: float) -> None:
    found = slowness(machines(spread, 100, sigma=2.0), 2.0)
    assert np.mean(found) == pytest.approx(1.0)
    assert np.std(found) == pytest.approx(spread, rel=0.1)
    assert list(found) == sorted(found)


def test_two_machines_or_machines_of_a_few_tasks_tell_nothing() -> None:
    assert slowness([Worked(50, 100.0), Worked(50, 300.0)], 1.0) == ()
    assert slowness([Worked(3, 30.0)] * 10, 1.0) == ()


def test_machines_of_a_workflow_are_told_apart_though_its_steps_take_different_times() -> None:
    rng = np.random.default_rng(2)
    slow = [0.7, 0.9, 1.0, 1.1, 1.3]
    profiles = StepProfiles(3)
    for machine, by in enumerate(slow):
        for step, seconds in enumerate((2.0, 200.0, 30.0)):
            # machines are given steps unevenly: by their seconds alone the slowest looks fast
            for _ in range(40 if (machine + step) % 3 else 10):
                profiles.add(step, 0, seconds * by * rng.lognormal(0, 0.2), machine)
    known, spread = profiles.spread(0)
    worked = [profiles.worked(machine, 0) for machine in range(5)]
    assert sum(one.tasks for one in worked) == known + 3
    found = slowness(worked, spread**0.5)
    assert found == pytest.approx(slow, rel=0.12)
    assert spread == pytest.approx(0.2**2 + np.var(np.log(slow)), rel=0.4)
