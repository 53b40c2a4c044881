"""Running tasks count with what they may still take: the estimate is not biased to short ones."""

from statistics import fmean

import numpy as np
import pytest

from bats.master.brain.learning.still_running import completed, ends_drawn
from bats.master.simulate.workloads import WORKLOADS


def test_without_running_tasks_the_sample_is_what_is_done() -> None:
    assert completed([3, 1, 2], []) == [1, 2, 3]


def test_the_share_of_a_running_task_goes_to_the_longer_ones() -> None:
    # By hand: 1 weighs 1/4; the task that runs for 2 leaves its quarter to 3 and 5.
    assert fmean(completed([1, 3, 5], [2])) == pytest.approx(1 / 4 + 3 * 3 / 8 + 5 * 3 / 8)


def test_a_task_that_runs_longer_than_all_known_is_expected_to_go_on() -> None:
    sample = completed([10, 20, 30], [40, 40])
    assert len(sample) == 5
    assert max(sample) > 50
    assert sample == sorted(sample)


def test_one_runtime_and_many_that_run_on() -> None:
    assert fmean(completed([10], [11] * 9)) == pytest.approx(0.1 * 10 + 0.9 * (11 + 109))


def test_tasks_that_are_all_alike_stay_so() -> None:
    assert completed([5, 5, 5], [1, 5, 5]) == pytest.approx([5] * 6)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_what_machines_have_done_first_does_not_deceive(kind: str) -> None:
    """14 machines take tasks until 30 are done: the mean of the done is short, of all it is not."""
    naive, ours = [], []
    rng = np.random.default_rng(7)
    for _ in range(100):
        free, ends, starts = [0.0] * 14, [], []
        while True:
            at = min(free)
            if sum(end <= at for end in ends) >= 30:
                break
            runtime = float(WORKLOADS[kind].draw(1, rng)[0])
            starts.append(at)
            ends.append(at + runtime)
            free[free.index(at)] = at + runtime
        done = [end - start for start, end in zip(starts, ends, strict=True) if end <= at]
        runs = [at - start for start, end in zip(starts, ends, strict=True) if end > at > start]
        naive.append(fmean(done))
        ours.append(fmean(completed(done, runs)))
    true = float(WORKLOADS[kind].draw(100_000, rng).mean())
    assert abs(fmean(ours) / true - 1) <= 0.04 + abs(fmean(naive) / true - 1) / 2


def test_what_a_running_task_may_come_to_differs_as_much_as_is_unknown() -> None:
    rng = np.random.default_rng(1)
    done = [150, 130, 160, 140, 155, 145]
    means = sorted(fmean([*done, *ends_drawn(done, [400] * 4, rng)]) for _ in range(200))
    # Four of ten have outlasted all that ended by far: nobody knows by how much they will.
    assert means[10] < 350
    assert means[100] > 450
    assert means[190] > 1000
    assert all(len(ends_drawn(done, [400] * 4, rng)) == 4 for _ in range(5))


def test_a_running_task_ends_like_one_that_is_known_to_take_longer_or_later_than_all() -> None:
    rng = np.random.default_rng(2)
    new = [end for _ in range(300) for end in ends_drawn([1, 3, 5], [2], rng)]
    assert {3, 5} < set(new)
    assert all(end in (3, 5) or end > 5 for end in new)
    assert sum(end > 5 for end in new) == pytest.approx(100, abs=30)


def test_running_tasks_among_tasks_all_alike_are_alike() -> None:
    assert ends_drawn([7, 7, 7], [1, 4], np.random.default_rng(3)) == [7] * 2


def test_ends_stand_in_the_order_of_the_tasks_that_run() -> None:
    rng = np.random.default_rng(4)
    elapsed = [3.0, 900.0, 2.0, 40.0]
    for _ in range(50):
        ends = ends_drawn([1, 3, 5], elapsed, rng)
        assert all(end >= tau for end, tau in zip(ends, elapsed, strict=True))
