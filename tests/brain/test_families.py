"""Families of distributions that what ended and what still runs may stem from."""

import math

import numpy as np
import pytest
from scipy.stats import gengamma, norm

from bats.master.brain.prediction.families import SPREAD, Doubt, Family, Seen, families

SURE = Doubt(by_line=0.01, by_price=0.0, price_tells=0.7)
UNTRIED = Doubt(by_line=math.inf, by_price=0.0, price_tells=0.7)


def first_ended(runtimes: np.ndarray, ended: int) -> tuple[list[float], list[float]]:
    """All began together: so many have ended, the others have run for as long as the last."""
    rising = np.sort(runtimes).tolist()
    now = rising[ended - 1]
    return rising[:ended], [now] * (len(rising) - ended)


def means(found: list[Family], rng: np.random.Generator) -> np.ndarray:
    return np.array([float(one.runtimes(400, rng).mean()) for one in found])


@pytest.mark.parametrize("Q", [1.0, 0.5, -0.8])
def test_runtimes_are_those_of_the_distribution_named(Q: float) -> None:
    rng = np.random.default_rng(1)
    drawn = Family(6.0, 0.6, Q, (0.0,), math.inf).runtimes(20_000, rng)
    # scipy's a, c and scale of Prentice's µ, σ, Q
    a, c = Q**-2, Q / 0.6
    known = gengamma(a, c, scale=math.exp(6.0) * a ** (-1 / c))
    for p in (0.1, 0.5, 0.9):
        assert float(np.quantile(drawn, p)) == pytest.approx(float(known.ppf(p)), rel=0.03)


@pytest.mark.parametrize("Q", [1.0, 0.2, -0.8])
def test_ends_of_running_tasks_are_those_of_the_longer_ones(Q: float) -> None:
    rng = np.random.default_rng(2)
    one = Family(6.0, 0.6, Q, (0.0, math.log(2)), math.inf)
    longer = one.runtimes(60_000, rng)
    ends = one.ends([1000.0] * 4000, [1] * 4000, rng)  # on a kind that is half as fast: 500
    assert ends.min() >= 500.0
    longer = longer[longer > 500.0]
    assert float(np.median(ends)) == pytest.approx(float(np.median(longer)), rel=0.05)


def test_of_many_ends_without_doubt_the_mean_and_spread_are_theirs() -> None:
    rng = np.random.default_rng(3)
    done = rng.lognormal(5.0, 0.5, 400).tolist()
    found = families([Seen(done, [], None)], 60, rng)
    assert float(np.median([one.sigma for one in found])) == pytest.approx(0.5, abs=0.06)
    assert float(np.median(means(found, rng))) == pytest.approx(math.exp(5.125), rel=0.06)


def test_walkers_come_to_what_a_grid_comes_to() -> None:
    """The twin knows log-normal distributions alone: µ and σ on a grid."""
    rng = np.random.default_rng(4)
    logs = rng.normal(5.0, 0.8, 12)
    mu, sigma = np.meshgrid(np.linspace(3, 8, 200), np.exp(np.linspace(-2, 1.5, 200)))
    each = norm.logpdf(logs[:, None, None], mu, sigma).sum(axis=0)
    each += norm.logpdf(np.log(sigma), math.log(SPREAD[0]), SPREAD[1])
    weights = np.exp(each - each.max())
    weights /= weights.sum()
    found = families([Seen(np.exp(logs).tolist(), [], None)], 400, rng)
    near = [one for one in found if abs(one.Q) < 0.35]
    assert len(near) > 50
    assert np.mean([one.mu for one in near]) == pytest.approx((weights * mu).sum(), abs=0.12)
    assert np.mean([one.sigma for one in near]) == pytest.approx((weights * sigma).sum(), abs=0.12)


def test_the_mean_is_within_what_four_ends_of_sixteen_leave_open() -> None:
    """It lies below the ninth tenth in most bags, though the first to end are the short ones."""
    within, deceived, rng = 0, 0, np.random.default_rng(5)
    for bag in range(45):
        runtimes, true = (
            (rng.normal(900.0, 130.0, 16), 900.0),
            (rng.lognormal(6.0, 1.0, 16), math.exp(6.5)),
            (rng.exponential(900.0, 16), 900.0),
        )[bag % 3]
        done, running = first_ended(runtimes, 4)
        deceived += true > 2 * float(np.mean(done))
        found = families([Seen(done, running, None)], 40, rng)
        within += true <= float(np.quantile(means(found, rng), 0.9))
    assert deceived > 20
    assert within >= 36


def test_how_fast_a_kind_is_follows_from_what_ended_there_where_no_task_ran_on_both() -> None:
    rng = np.random.default_rng(6)
    here, there = (rng.lognormal(5.0, 0.3, 15), rng.lognormal(5.0 + math.log(3), 0.3, 15))
    found = families([Seen(here.tolist(), [], None), Seen(there.tolist(), [], UNTRIED)], 60, rng)
    delta = [one.delta[1] for one in found]
    assert np.mean(delta) == pytest.approx(math.log(3), abs=0.3)
    assert np.std(delta) < 0.25


def test_of_a_kind_where_nothing_ended_the_price_tells_and_little() -> None:
    rng = np.random.default_rng(7)
    dear = Doubt(by_line=math.inf, by_price=-math.log(3), price_tells=0.7)
    found = families([Seen([50.0, 60.0, 70.0], [], None), Seen([], [], dear)], 60, rng)
    delta = [one.delta[1] for one in found]
    assert np.median(delta) == pytest.approx(-math.log(3), abs=0.5)
    assert np.std(delta) > 0.4


@pytest.mark.parametrize(
    ("done", "running"),
    [
        ([1e-9], []),
        ([5.0], [1e6] * 30),
        ([1.0, 1e8], [1.0]),
        ((np.random.default_rng(8).standard_cauchy(3000) ** -2).clip(1e-6, 1e12).tolist(), [1e9]),
        ([3.0] * 5, [3.0] * 5),
    ],
)
def test_whatever_was_seen_all_that_is_drawn_is_a_runtime(
    done: list[float], running: list[float]
) -> None:
    rng = np.random.default_rng(9)
    for one in families([Seen(done, running, None), Seen(done[:1], [], SURE)], 12, rng):
        drawn = np.concatenate([one.runtimes(50, rng), one.ends(running, [0] * len(running), rng)])
        assert np.isfinite(drawn).all()
        assert (drawn >= 0).all()
