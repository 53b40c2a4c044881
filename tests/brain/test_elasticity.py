"""Measures of autoscalers, held against second-by-second counting and small cases done by hand."""

import random

import pytest

from bats.master.brain.elasticity.charges import accounted_hours, charged_hours
from bats.master.brain.elasticity.curves import Curve, elasticity
from bats.master.brain.elasticity.rankings import fractional, pairwise, scores


def level(of: Curve, at: float) -> float:
    return next((value for since, value in reversed(of) if since <= at), 0.0)


def drawn(rng: random.Random, most: int) -> Curve:
    changes = sorted(rng.sample(range(200), 25))
    return [(float(at), float(rng.randrange(most + 1))) for at in changes]


@pytest.mark.parametrize("seed", range(10))
def test_the_measures_are_those_of_counting_every_second(seed: int):
    rng = random.Random(seed)
    demand, supply, busy = (drawn(rng, most) for most in (12, 10, 3))
    ours = elasticity(demand, supply, busy, 10, 20.0, 180.0, step=1.0)
    seconds = [
        (level(demand, t), level(supply, t), level(busy, t))
        for t in range(20, 180)
        if level(demand, t) <= 10
    ]
    steps = len(seconds)
    # Seconds in which more is wanted than there can be are left out.
    assert ours.a_u == pytest.approx(sum(max(d - s, 0) for d, s, _ in seconds) / steps / 10)
    assert ours.a_o == pytest.approx(sum(max(s - d, 0) for d, s, _ in seconds) / steps / 10)
    assert ours.mean_a_u == pytest.approx(
        sum(max(d - s, 0) / max(d, 1) for d, s, _ in seconds) / steps
    )
    assert ours.mean_a_o == pytest.approx(
        sum(max(s - d, 0) / max(d, 1) for d, s, _ in seconds) / steps
    )
    assert ours.t_u == pytest.approx(sum(d > s for d, s, _ in seconds) / steps)
    assert ours.t_o == pytest.approx(sum(s > d for d, s, _ in seconds) / steps)
    assert ours.m_u == pytest.approx(sum(max(s - b, 0) for _, s, b in seconds) / steps / 10)
    # V̄ is about money: it counts every second.
    assert ours.mean_supply == pytest.approx(sum(level(supply, t) for t in range(20, 180)) / 160)


def test_supply_that_does_not_fall_with_demand_counts_as_instability_above():
    falling = [(float(t), float(100 - t)) for t in range(100)]
    ours = elasticity(falling, [(0.0, 100.0)], [(0.0, 0.0)], 100, 0.0, 100.0, step=1.0)
    assert (ours.k, ours.k_less) == (1.0, 0.0)
    following = elasticity(falling, falling, falling, 100, 0.0, 100.0, step=1.0)
    assert (following.k, following.k_less, following.a_u, following.a_o) == (0, 0, 0, 0)


def test_a_span_without_time_is_refused():
    with pytest.raises(ValueError, match="no measures of 0"):
        elasticity([], [], [], 1, 5.0, 5.0)


def test_each_time_that_a_machine_is_on_counts_in_hours_begun():
    lives = [(0.0, 1.0), (100.0, 3700.0), (4000.0, 7601.0), (9000.0, 9000.0)]
    assert charged_hours(lives, 2) == (1 + 1 + 2) / 2
    assert accounted_hours(lives, 2) == pytest.approx((1 + 3600 + 3601) / 3600 / 2)
    assert charged_hours([(0.0, 61.0)], 1, period_seconds=60.0) == pytest.approx(2 / 60)


def test_points_and_differences_of_two_autoscalers_by_hand():
    rows = {"one": {"a": 1.0, "b": 0.0, "c": 4.0}, "two": {"a": 2.0, "b": 3.0, "c": 4.0}}
    assert pairwise(rows) == {"one": 2.5, "two": 0.5}
    assert fractional(rows) == {"one": 0.0, "two": (1 + 3 + 0) / 3}


def test_who_is_the_base_scores_one_and_who_halves_all_scores_two():
    base = {"a_U": 4, "a_O": 8, "t_U": 2, "t_O": 6, "k": 1, "k'": 3, "H": 8, "S_e": 2}
    half = {measure: value / 2 for measure, value in base.items()}
    assert scores(base, base) == (1, 1, 1)
    assert scores(half, base) == pytest.approx((2, 2, 2))
