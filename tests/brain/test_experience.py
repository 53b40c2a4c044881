"""Experience with a command: what it adds to a sample, and when it does not."""

import numpy as np
import pytest

from bats.master.brain.learning.experience import (
    HALF_LIFE_SECONDS,
    MOST,
    SHARES,
    Experience,
    runtimes_with_earlier,
)
from bats.master.brain.prediction.distributions import possible
from bats.master.simulate.workloads import WORKLOADS


def drawn(kind: str, tasks: int, seed: int) -> list[float]:
    runtimes: list[float] = WORKLOADS[kind].draw(tasks, np.random.default_rng(seed)).tolist()
    return runtimes


def test_what_is_kept_of_many_tasks_is_little_and_has_their_mean() -> None:
    runtimes = drawn("log-normal", 5000, 1)
    kept = Experience.of(runtimes, 0.0)
    assert kept.count == 5000
    assert len(kept.runtimes) == SHARES
    assert np.mean(kept.runtimes) == pytest.approx(np.mean(runtimes))
    assert list(kept.runtimes) == sorted(kept.runtimes)


def test_a_newer_bag_weighs_as_much_as_all_older_ones_together_at_least() -> None:
    slow, quick = Experience.of([100.0] * 1000, 0.0), Experience.of([10.0] * 50, 60.0)
    both = slow.with_more(quick)
    assert (both.count, both.at) == (1050, 60.0)
    assert np.mean(both.runtimes) == pytest.approx(55.0)


def test_it_counts_for_less_the_older_it_is() -> None:
    known = Experience.of([1.0, 2.0], 0.0)
    assert known.weight(0.0) == 2
    assert known.weight(HALF_LIFE_SECONDS) == 1
    assert Experience.of([1.0] * 99, 0.0).weight(0.0) == MOST


def test_a_sample_keeps_its_mean_and_gets_the_shape_of_earlier_bags() -> None:
    sample = [4.0, 10.0, 16.0]
    whole = runtimes_with_earlier(sample, [1.0, 1.0, 1.0, 1.0, 6.0], 5.0)
    assert len(whole) == 8
    assert np.mean(whole) == pytest.approx(10.0)
    assert max(whole) == pytest.approx(30.0)


def test_experience_that_the_sample_contradicts_is_left_out() -> None:
    sample = tuple(np.linspace(9.0, 11.0, 30).tolist())
    bimodal = [1.0] * 30 + [40.0] * 10
    assert runtimes_with_earlier(sample, bimodal, 10.0) == sample


def test_a_long_tail_that_a_small_sample_missed_is_expected_from_experience() -> None:
    """Of 12 tasks next to nothing is known of the longest in a thousand."""
    earlier = Experience.of(drawn("pareto", 1000, 2), 0.0)
    far = []
    for completed in (False, True):
        longest = []
        for seed in range(20):
            sample = drawn("pareto", 12, 100 + seed)
            if completed:
                sample = list(runtimes_with_earlier(sample, earlier.runtimes, MOST))
            draws = possible(np.array(sample), 40, np.random.default_rng(seed))
            means = (draws.values * draws.weights).sum(axis=1)
            longest.append(np.log(np.quantile(means, 0.9) / np.quantile(means, 0.1)))
        far.append(float(np.mean(longest)))
    assert far[1] < far[0], "the bag's mean is known better"
