"""The intervals of T ch. 4 are computed as printed and hold as often as they say."""

import math

import numpy as np
import pytest
from scipy import stats

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.learning.intervals import (
    Interval,
    Moments,
    budget_bound,
    makespan_bound,
    mean_interval,
    moments,
    promised,
    sigma_interval,
)


def test_the_intervals_hold_as_often_as_they_say_for_normal_samples():
    rng = np.random.default_rng(6)
    drawn = [moments(rng.normal(15, 2, 30).tolist()) for _ in range(2000)]
    assert np.mean([15 in mean_interval(known) for known in drawn]) == pytest.approx(0.9, abs=0.02)
    assert np.mean([2 in sigma_interval(known) for known in drawn]) == pytest.approx(0.9, abs=0.02)


def test_quantiles_are_those_of_student_and_chi_square():
    known = Moments(30, 15.0, 2.0)
    reach = stats.t.ppf(0.95, 29) * 2 / math.sqrt(30)
    assert mean_interval(known).high == pytest.approx(15 + reach)
    assert mean_interval(known).low == pytest.approx(15 - reach)
    assert sigma_interval(known).high == pytest.approx(2 * math.sqrt(30 / stats.chi2.ppf(0.05, 29)))
    assert sigma_interval(known).low == pytest.approx(2 * math.sqrt(30 / stats.chi2.ppf(0.95, 29)))


def test_one_runtime_bounds_nothing():
    assert mean_interval(moments([3.0])) == Interval(0, math.inf)
    assert math.isinf(makespan_bound(10, [1], [moments([3.0])]))
    assert makespan_bound(0, [1], [moments([3.0])]) == 0
    assert math.isinf(makespan_bound(10, [0], [Moments(30, 15, 2)]))


def test_the_bound_of_one_machine_is_that_of_a_sum_of_normal_runtimes():
    known = Moments(10**9, 15.0, 2.0)
    expected = 100 * 15 + 10 * stats.norm.ppf(0.9) * 2
    assert makespan_bound(100, [1, 0], [known, known]) == pytest.approx(expected, rel=1e-3)


def test_the_bound_holds_for_the_aggregate_machine_it_is_made_for():
    """Each task goes to machine i with probability w_i and takes 1/n of its time there."""
    rng = np.random.default_rng(8)
    a, mu, sigma, N = np.array([3, 2]), np.array([15.0, 5.0]), np.array([4.0, 1.5]), 200
    w = a / mu / (a / mu).sum()
    held = []
    for _ in range(400):
        known = [moments(rng.normal(m, s, 30).tolist()) for m, s in zip(mu, sigma, strict=True)]
        at = rng.choice(2, N, p=w)
        held.append(rng.normal(mu[at], sigma[at]).sum() / a.sum() <= makespan_bound(N, a, known))
    assert np.mean(held) >= promised()


def test_more_doubt_never_lowers_the_bound():
    known = [Moments(30, 15.0, 5.0), Moments(30, 5.0, 2.0)]
    bounds = [makespan_bound(970, [24, 12], known, p, p, p) for p in (0.7, 0.8, 0.9, 0.95)]
    assert bounds == sorted(bounds)


def test_all_machines_of_the_mix_are_paid_through_the_bound():
    hourly = Offering(ClusterName("a"), money(3), 3600, 32)
    dear = Offering(ClusterName("b"), money(12), 3600, 32)
    assert budget_bound([2, 1], [hourly, dear], 3601) == money(2 * (2 * 3 + 12))
    assert budget_bound([2, 0], [hourly, dear], 3600) == money(2 * 3)
