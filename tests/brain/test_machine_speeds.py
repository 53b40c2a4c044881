"""How machines of a kind differ, told apart from what their tasks do."""

import numpy as np
import pytest

from bats.master.brain.learning.machine_speeds import Worked, slowness


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
