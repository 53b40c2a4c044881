"""Runtimes of a workflow's steps as users write them, and as they were once."""

import numpy as np
import pytest

from bats.common.errors import UsageError
from bats.master.simulate.runtimes_of_steps import (
    StepTasks,
    as_once,
    as_recorded,
    of_run,
    of_steps,
)

STEPS = [
    StepTasks("prepare", 1),
    StepTasks("sweep", 3, [{"n": "1"}, {"n": "2"}, {"n": "3"}]),
    StepTasks("gather", 1),
]


def test_each_step_has_its_own_and_the_others_the_one_that_names_none() -> None:
    times = of_steps(["sweep=10 * n", "2m"], None, STEPS)
    assert times.draw(5, np.random.default_rng(1)).tolist() == [120, 10, 20, 30, 120]
    assert "sweep: 10 * n seconds" in times.about


def test_distributions_keep_their_own_equals_signs() -> None:
    times = of_steps(["normal:mean=15m,sigma=1s", "gather=normal:mean=1m,sigma=1s"], None, STEPS)
    drawn = times.draw(5, np.random.default_rng(1))
    assert np.allclose(drawn, [900, 900, 900, 900, 60], atol=6)


def test_steps_that_are_all_alike_are_told_once() -> None:
    assert of_steps(["90s"], None, STEPS).about == "every task 1 min 30 s"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["sweep=2m"], "of prepare, gather"),
        (["2m", "3m"], "prepare=2m; the steps are prepare, sweep, gather"),
        (["sweep=2m", "sweep=3m", "1m"], "has two: 2m, 3m"),
        (["collect=2m"], "neither a file, nor a duration"),
    ],
)
def test_what_is_not_clear_is_named(written: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        of_steps(written, None, STEPS)


def test_a_run_tells_the_speed_of_machines_by_the_steps_that_they_ran() -> None:
    """The fast machine ran the long step only: by the means of all tasks it would be the slow."""
    steps = [StepTasks("short", 4), StepTasks("long", 3)]
    run = [(0, "slow", 10.0), (1, "slow", 10.0), (2, "fast", 5.0),
           (4, "slow", 200.0), (5, "fast", 100.0)]  # fmt: skip
    times, speeds = of_run(run, steps)
    assert speeds["slow"] == 1.0
    assert 1.8 < speeds["fast"] < 2.1
    assert times.draw(7, np.random.default_rng(1))[[3, 6]] == pytest.approx([8.33, 150], abs=0.01)


def test_a_run_in_which_nothing_was_done_tells_nothing() -> None:
    with pytest.raises(UsageError, match="nothing tells how long"):
        of_run([], STEPS)


def test_tasks_that_took_no_time_take_a_little() -> None:
    assert as_once([0.0, 2.0], "").draw(2, np.random.default_rng(1)).tolist() == [0.001, 2.0]


def test_tasks_that_were_not_recorded_take_the_mean_of_their_step_or_of_all_and_are_told() -> None:
    times = as_recorded([0.0, 30.0, 0.0, 50.0, 10.0], STEPS)
    assert times.draw(5, np.random.default_rng(1)).tolist() == [25, 30, 40, 50, 10]
    assert "; 2 not recorded" in times.about
    assert as_recorded([1.0, 2.0, 3.0, 4.0, 5.0], STEPS).about == "each as recorded"
