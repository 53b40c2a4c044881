"""Distributions that a sample may stem from: as wide as the sample is small, and no wider."""

import numpy as np
import pytest

from bats.master.brain.prediction.distributions import possible


def test_their_means_spread_as_the_mean_of_a_sample_does():
    rng = np.random.default_rng(3)
    sample = rng.normal(15, 2.2, 30)
    draws = possible(sample, 4000, rng)
    means = (draws.values * draws.weights).sum(axis=1)
    assert means.mean() == pytest.approx(sample.mean(), rel=0.02)
    assert means.std() == pytest.approx(sample.std() / 30**0.5, rel=0.25)
    assert draws.weights.sum(axis=1) == pytest.approx(1.0)
    assert np.all(draws.weights >= -1e-12)


def test_longer_tasks_than_seen_are_expected_about_as_often_as_they_come():
    rng = np.random.default_rng(5)
    for draw in (
        lambda n: rng.normal(15, 2.2, n),
        lambda n: rng.exponential(10, n),
        lambda n: rng.lognormal(2, 0.6, n),
    ):
        samples = [draw(30) for _ in range(150)]
        expected = [
            (draws.weights * (draws.values > sample.max())).sum(axis=1).mean()
            for sample in samples
            for draws in [possible(sample, 200, rng)]
        ]
        assert np.mean(expected) == pytest.approx(1 / 31, rel=0.25)


def test_tasks_are_drawn_from_the_distribution_of_their_column():
    rng = np.random.default_rng(6)
    draws = possible(rng.exponential(10, 30), 5, rng)
    tasks = draws.tasks(40_000, rng)
    assert tasks.shape == (40_000, 5)
    expected = (draws.values * draws.weights).sum(axis=1)
    assert tasks.mean(axis=0) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("sample", [[7.0], [7.0, 7.0], [7.0] * 30])
def test_tasks_that_are_all_alike_promise_no_other(sample: list[float]):
    rng = np.random.default_rng(7)
    assert np.all(possible(np.array(sample), 50, rng).tasks(100, rng) == 7.0)


def test_two_tasks_leave_more_open_than_two_hundred():
    rng = np.random.default_rng(8)
    few, many = (possible(rng.exponential(10, n), 500, rng) for n in (2, 200))
    spread = [np.std((d.values * d.weights).sum(axis=1)) for d in (few, many)]
    assert spread[0] > 3 * spread[1]
