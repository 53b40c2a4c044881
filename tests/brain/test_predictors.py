"""A schedule's bounds hold as often as they say, and count money as the bill does."""

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common import billing
from bats.common.errors import UsageError
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.learning.regression import Line
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.prediction.busy_middle import skip
from bats.master.brain.prediction.distributions import possible
from bats.master.brain.prediction.predictors import PREDICTORS, Question, atus_to_work, predict
from bats.master.brain.prediction.rollout import NO_COPIES, Lines, Slots, run_bag

SPEEDS, PRICES = (1, 3, 2), (3, 12, 3)


def question(runtimes: list[float], tasks: int, mix: tuple[int, ...], **more: Any) -> Question:
    mean = float(np.mean(runtimes))
    clusters = tuple(
        Cluster(Offering(ClusterName(name), money(price), 3600, 9999), mean / speed, 9999)
        for name, price, speed in zip("ABC", PRICES, SPEEDS, strict=True)
    )
    samples = tuple(tuple(x / speed for x in runtimes) for speed in SPEEDS)
    return Question(clusters, samples, tasks, mix, **more)


def exponential(n: int, seed: int = 1, mean: float = 600.0) -> list[float]:
    return np.random.default_rng(seed).exponential(mean, n).tolist()


@pytest.mark.parametrize("name", PREDICTORS)
def test_more_confidence_never_lowers_a_bound_and_more_money_never_a_chance(name: str):
    sample = exponential(30)
    bounds = [
        predict(question(sample, 970, (24, 24, 24), confidence=c), name) for c in (0.5, 0.8, 0.95)
    ]
    assert bounds[0].makespan_seconds < bounds[1].makespan_seconds < bounds[2].makespan_seconds
    assert bounds[0].cost <= bounds[1].cost <= bounds[2].cost
    chances = [
        predict(question(sample, 970, (0, 0, 20), budget=money(b), deadline_seconds=b * 50.0), name)
        for b in (100, 250, 300, 2000)
    ]
    assert [c.chance_in_budget for c in chances] == sorted(c.chance_in_budget for c in chances)
    assert [c.chance_in_deadline for c in chances] == sorted(c.chance_in_deadline for c in chances)
    assert chances[0].chance_in_budget < 0.01
    assert chances[-1].chance_in_budget > 0.99


def test_a_bound_for_90_percent_holds_in_about_90_of_100_bags():
    rng = np.random.default_rng(9)
    held = []
    lines = Lines([Line(0, 1), Line(0, 1 / 3), Line(0, 1 / 2)])
    kind = np.repeat([0, 1, 2], 4)[None, :]
    for _ in range(150):
        bag = rng.gamma(2.0, 300.0, 330)
        asked = question(bag[:30].tolist(), 300, (4, 4, 4), copying=NO_COPIES)
        slots = Slots.fresh(kind, np.zeros(kind.shape))
        run_bag(slots, bag[30:, None], lines)
        held.append(slots.makespans()[0] <= predict(asked).makespan_seconds)
    assert 0.83 <= np.mean(held) <= 0.98


def test_a_constant_bag_is_predicted_to_the_second():
    asked = question([600.0] * 30, 100, (10, 0, 0), budget=money(60), deadline_seconds=6000)
    bounds = predict(asked)
    assert bounds.makespan_seconds == pytest.approx(6000)
    assert bounds.cost == bounds.median_cost == money(60)
    assert bounds.chance_in_budget == bounds.chance_in_deadline == 1


def test_start_delays_and_slots_count():
    offering = Offering(ClusterName("a"), money(1), 3600, 10, slots=4)
    cluster = Cluster(offering, 600.0, 10, start_seconds=120.0)
    bounds = predict(Question((cluster,), ([600.0] * 5,), 40, (5,)))
    assert bounds.makespan_seconds == pytest.approx(120 + 2 * 600)
    assert bounds.cost == money(5)


def test_an_unpaid_machine_costs_nothing_and_an_unused_cluster_needs_no_sample():
    free = Cluster(Offering(ClusterName("mine"), money(0), 3600, 10), 600.0, 10)
    other = Cluster(Offering(ClusterName("cloud"), money(9), 3600, 10), math.nan, 10)
    bounds = predict(Question((free, other), (exponential(30), ()), 50, (4, 0), budget=money(0)))
    assert bounds.cost == 0
    assert bounds.chance_in_budget == 1
    with pytest.raises(ValueError, match="no runtimes are known of cloud"):
        predict(Question((free, other), (exponential(30), ()), 50, (4, 1)))


def test_nothing_to_do_takes_no_time_and_no_machines_take_forever():
    assert predict(question([600.0], 0, (1, 0, 0))).makespan_seconds == 0
    idle = predict(question([600.0], 5, (0, 0, 0), deadline_seconds=1e9))
    assert math.isinf(idle.makespan_seconds)
    assert idle.chance_in_deadline == 0


@pytest.mark.parametrize("name", PREDICTORS)
@pytest.mark.parametrize(("n", "tasks"), [(1, 1), (1, 9), (2, 8), (30, 1), (30, 5), (8, 2)])
def test_small_samples_and_small_bags_are_answered(name: str, n: int, tasks: int):
    bounds = predict(question(exponential(n), tasks, (2, 1, 1)), name)
    assert bounds.makespan_seconds > 0
    assert bounds.median_seconds <= bounds.makespan_seconds
    assert math.isfinite(bounds.makespan_seconds) or (name == "theory" and n < 30)


def test_the_same_question_has_the_same_answer():
    asked = question(exponential(30), 300, (5, 5, 5), seed=3)
    assert predict(asked) == predict(asked)


def test_unknown_predictors_are_named_with_those_there_are():
    with pytest.raises(UsageError, match="theory, resampling"):
        predict(question([600.0], 5, (1, 0, 0)), "oracle")


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=20),
    st.sampled_from([1.0, 60.0, 3600.0]),
    st.sampled_from([0.0, 60.0, 600.0]),
    st.sampled_from([0.0, 0.5]),
)
def test_machines_are_billed_as_by_the_one_billing_function(
    uptimes: list[float], atu: float, least: float, boundary: float
):
    offering = Offering(ClusterName("a"), money(1), atu, 10, 1, least, boundary)
    edges = [*uptimes, atu, 7 * atu, 3 * (atu / 3)]
    found = atus_to_work(offering, np.array(edges)).tolist()
    assert found == [billing.atus_to_work(offering, u) for u in edges]


def test_skipping_the_middle_of_a_bag_changes_nothing_that_can_be_seen():
    """All tasks one by one, and most of them skipped: the same makespans, within their noise."""
    rng = np.random.default_rng(2)
    lines = Lines([Line(0, 1), Line(0, 1 / 3)])
    kind = np.repeat([0, 1], [6, 4])
    ready = np.where(kind == 0, 0.0, 500.0)
    draws = possible(rng.gamma(1.5, 400, 30), 1500, rng)
    every, few = [], []
    whole = Slots.fresh(np.tile(kind, (1500, 1)), np.tile(ready, (1500, 1)))
    run_bag(whole, draws.tasks(1000, rng), lines)
    every = whole.makespans()
    skipped = skip(800, draws, kind, ready, lines, rng)
    run_bag(skipped, draws.tasks(200, rng), lines)
    few = skipped.makespans()
    assert few.mean() == pytest.approx(every.mean(), rel=0.005)
    assert few.std() == pytest.approx(every.std(), rel=0.05)
    # Row by row they share the distribution, so that what is left is the noise of single bags.
    assert np.std(few - every) < 0.5 * every.std()


def test_six_schedules_of_a_thousand_tasks_and_a_million_tasks_are_predicted_while_one_waits():
    sample = exponential(30)
    began = time.process_time()
    for mix in ((0, 0, 1), (0, 0, 17), (1, 0, 24), (24, 12, 24), (24, 18, 24), (24, 24, 24)):
        predict(question(sample, 970, mix))
    assert time.process_time() - began < 2
    began = time.process_time()
    predict(question(sample, 1_000_000, (24, 24, 24)))
    assert time.process_time() - began < 5


def test_the_bound_on_the_cost_is_never_above_the_budget():
    sample = exponential(30)
    free, capped = (
        predict(question(sample, 300, (9, 9, 9), budget=budget)) for budget in (None, money(170))
    )
    assert free.cost > capped.cost == money(170)
    assert capped.chance_in_budget < 0.5


def test_the_last_of_paid_time_that_a_machine_needs_to_stop_is_not_worked():
    offering = Offering(ClusterName("a"), money(1), 3600, 10, boundary_seconds=60)
    cluster = Cluster(offering, 600.0, 10)
    bounds = predict(Question((cluster,), ([600.0] * 30,), 60, (10,)))
    assert bounds.makespan_seconds == pytest.approx(3600)
    assert bounds.cost == money(20)
