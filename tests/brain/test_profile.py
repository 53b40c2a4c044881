"""A cluster's profile says at any time what the plain formulas over all runtimes say."""

import random
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.master.brain.learning.profile import EXACT, RuntimeProfile

runtimes = st.lists(st.floats(0, 1e7), min_size=1, max_size=60)


def tail_mean(known: list[float], tau: float) -> float:
    longer = [x for x in known if x > tau]
    return fmean(longer) if longer else tau


@given(runtimes, st.lists(st.floats(0, 1e7), max_size=8))
def test_the_mean_counts_running_tasks_by_the_mean_of_the_longer_ones(
    known: list[float], elapsed: list[float]
):
    profile = RuntimeProfile(known)
    estimates = [tail_mean(known, tau) for tau in elapsed]
    assert profile.mean_with_running(elapsed) == pytest.approx(fmean(known + estimates))
    assert profile.mean_done == pytest.approx(fmean(known))
    assert profile.count == len(known)
    assert profile.sample() == tuple(sorted(known))


def test_a_task_longer_than_all_known_counts_with_its_own_time():
    assert RuntimeProfile([5, 7]).tail_mean(9) == 9


def test_leaving_out_running_tasks_would_have_biased_the_mean_to_short_ones():
    profile = RuntimeProfile([10, 10, 10, 100])
    assert profile.mean_with_running([50, 50]) == pytest.approx((130 + 200) / 6)


@pytest.mark.parametrize("sigma", [0.05, 1.0, 2.5])
def test_a_large_bag_is_kept_in_bins_that_answer_within_two_percent(sigma: float):
    chance = random.Random(7)
    known = [chance.lognormvariate(4, sigma) for _ in range(5 * EXACT)]
    profile = RuntimeProfile(known)
    assert profile.mean_done == pytest.approx(fmean(known))
    for share in (0.01, 0.3, 0.8, 0.99, 0.9999):
        tau = sorted(known)[int(share * len(known))]
        assert profile.tail_mean(tau) == pytest.approx(tail_mean(known, tau), rel=0.02)
    assert profile.tail_mean(max(known) * 2) == max(known) * 2
    sample = profile.sample()
    assert len(sample) == EXACT
    assert np.all(np.diff(sample) > -1e-9)
    assert fmean(sample) == pytest.approx(fmean(known))


def test_extreme_runtimes_find_a_bin():
    profile = RuntimeProfile([0.0, 1e-9, 1e12] * EXACT)
    assert profile.tail_mean(1e-6) == pytest.approx(1e12)
