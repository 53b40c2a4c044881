"""Families of distributions that what ended and what still runs may stem from."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta, gengamma, norm

from bats.master.brain.prediction.families import (
    FURTHER,
    SHARE,
    SPREAD,
    Doubt,
    Family,
    Seen,
    families,
)

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
    """The twin knows log-normal distributions of two modes: µ, σ, p and ρ on a grid."""
    rng = np.random.default_rng(4)
    logs = rng.normal(5.0, 0.8, 12)
    mu, sigma, p, rho = np.meshgrid(
        np.linspace(3, 8, 40),
        np.exp(np.linspace(-2, 1.5, 40)),
        expit(np.linspace(-9, 5, 30)),
        np.linspace(0.1, 4, 20),
    )
    each = norm.logpdf(np.log(sigma), math.log(SPREAD[0]), SPREAD[1])
    each += norm.logpdf(rho, *FURTHER) + beta.logpdf(p, *SHARE) + np.log(p * (1 - p))
    for x in logs:
        first, second = (norm.pdf(x, mu + further, sigma) for further in (0.0, rho))
        each += np.log((1 - p) * first + p * second)
    weights = np.exp(each - each.max())
    weights /= weights.sum()
    found = families([Seen(np.exp(logs).tolist(), [], None)], 400, rng)
    near = [one for one in found if abs(one.Q) < 0.35]
    assert len(near) > 50
    for name, grid in (("mu", mu), ("sigma", sigma), ("p", p), ("rho", rho)):
        mean = np.mean([getattr(one, name) for one in near])
        assert mean == pytest.approx(float((weights * grid).sum()), abs=0.12), name


def of_second(found: list[Family]) -> list[float]:
    return [one.p for one in found if one.rho > 1]


@pytest.mark.parametrize("ended", [6, 12, 48])
def test_a_mode_that_no_task_has_shown_may_have_a_part_in_as_many_as_ended(ended: int) -> None:
    rng = np.random.default_rng(10)
    found = families([Seen(rng.normal(300.0, 30.0, ended).tolist(), [], None)], 120, rng)
    assert 1 / (5 * ended) < np.mean(of_second(found)) < 2 / ended


def test_a_mode_that_many_tasks_have_shown_is_known() -> None:
    rng = np.random.default_rng(11)
    length = np.where(np.arange(60) % 5 == 0, 2400.0, 300.0)
    done = (length * rng.normal(1.0, 0.1, 60)).tolist()
    found = families([Seen(done, [], None)], 120, rng)
    assert np.median([one.p for one in found]) == pytest.approx(0.2, abs=0.05)
    assert np.median([one.rho for one in found]) == pytest.approx(math.log(8), abs=0.15)
    assert float(np.median(means(found, rng))) == pytest.approx(720.0, rel=0.15)


def test_what_has_run_beyond_one_mode_is_held_to_be_of_the_other() -> None:
    rng = np.random.default_rng(12)
    one = Family(math.log(300.0), 0.1, 0.05, (0.0,), math.inf, p=0.2, rho=math.log(8))
    assert np.mean(one.ends([0.0] * 4000, [0] * 4000, rng) > 1000) == pytest.approx(0.2, abs=0.03)
    assert one.ends([450.0] * 40, [0] * 40, rng).min() > 1000


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
