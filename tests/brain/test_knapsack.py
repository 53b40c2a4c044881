"""The knapsack planner finds the exact optimum, however machines are billed."""

import random

import pytest
from helpers.market import (
    budgets,
    cluster,
    fastest_of_all,
    hourly,
    markets,
    same,
    tasks_left,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from bats.common.money import NOTHING, Money, money
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.planners import PLANNERS
from bats.master.brain.planning.problem import Plan, Problem, all_machines


@settings(max_examples=2000, deadline=None, derandomize=True)
@given(markets(), tasks_left, st.floats(0, 1), st.integers(-1, 1))
def test_no_mix_at_all_is_better_than_the_one_found(
    clusters: tuple[Cluster, ...], tasks: int, share: float, nudge: int
) -> None:
    budget = budgets(clusters, tasks, share, nudge)
    found = knapsack(Problem(clusters, tasks, budget))
    best = fastest_of_all(clusters, tasks, budget)
    assert same(found, best), (found, best)


@pytest.mark.parametrize("planner", PLANNERS)
def test_of_equally_fast_machines_that_is_bought_which_is_cheaper_for_the_whole_time(
    planner: str,
) -> None:
    """The second one enters a third ATU just before it would be told to stop."""
    clusters = (
        cluster(60.0, Money(1), 1, atu_seconds=1.0),
        cluster(120.0, Money(3), 1, atu_seconds=60.0, boundary_seconds=0.25),
        cluster(120.0, Money(6), 1, atu_seconds=600.0),
    )
    for order in (clusters, clusters[::-1]):
        found = PLANNERS[planner].fastest(Problem(order, 1, Money(9)))
        assert found is not None
        assert (found.machines, found.cost) == (1, 6)


@settings(max_examples=2000, deadline=None, derandomize=True)
@given(markets(one_bill=True), tasks_left, st.floats(0, 1), st.integers(-1, 1))
def test_nor_where_all_machines_are_billed_alike(
    clusters: tuple[Cluster, ...], tasks: int, share: float, nudge: int
) -> None:
    budget = budgets(clusters, tasks, share, nudge)
    found = knapsack(Problem(clusters, tasks, budget))
    best = fastest_of_all(clusters, tasks, budget)
    assert same(found, best), (found, best)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(markets(), tasks_left, st.floats(0, 1), st.floats(0.5, 3))
def test_a_plan_that_is_too_slow_for_the_deadline_is_no_plan(
    clusters: tuple[Cluster, ...], tasks: int, share: float, slack: float
) -> None:
    budget = budgets(clusters, tasks, share, 0)
    deadline = all_machines(clusters, tasks).makespan_seconds * slack
    found = knapsack(Problem(clusters, tasks, budget, deadline))
    best = fastest_of_all(clusters, tasks, budget, deadline * (1 + 1e-9))
    assert same(found, best), (found, best)


def test_free_machines_are_all_taken_and_cost_nothing() -> None:
    clusters = (cluster(900, NOTHING, 7), cluster(900, money(3), 5))
    plan = knapsack(Problem(clusters, 100, NOTHING))
    assert plan is not None
    assert (plan.mix, plan.cost) == ((7, 0), NOTHING)


def test_with_free_machines_only_any_budget_will_do() -> None:
    clusters = (cluster(900, NOTHING, 7), cluster(60, NOTHING, 2))
    for budget in (NOTHING, money(100)):
        plan = knapsack(Problem(clusters, 1000, budget))
        assert plan is not None
        assert (plan.mix, plan.cost) == ((7, 2), NOTHING)


def test_without_money_or_machines_there_is_no_plan() -> None:
    assert knapsack(Problem(hourly((15,), (3,), (4,)), 10, NOTHING)) is None
    assert knapsack(Problem(hourly((15,), (3,), (0,)), 10, money(9))) is None
    assert knapsack(Problem((), 10, money(9))) is None


def test_an_empty_bag_needs_no_machines() -> None:
    plan = knapsack(Problem(hourly((15,), (3,), (4,)), 0, NOTHING))
    assert plan == Plan((0,), 0.0, 0.0, NOTHING)


def test_no_more_machines_are_taken_than_there_are_tasks_for() -> None:
    clusters = (cluster(900, money(3), 32), cluster(900, money(3), 32, slots=4))
    plan = knapsack(Problem(clusters, 5, money(1000)))
    assert plan is not None
    assert plan.mix == (5, 2)


def test_of_equally_fast_mixes_the_cheaper_is_taken_then_the_smaller() -> None:
    dear_and_cheap = hourly((15, 15), (12, 3), (1, 1))
    plan = knapsack(Problem(dear_and_cheap, 4, money(13)))
    assert plan is not None
    assert plan.mix == (0, 1)
    small_and_large = hourly((16, 4), (2, 8), (8, 1))
    plan = knapsack(Problem(small_and_large, 15, money(8)))
    assert plan is not None
    assert plan.mix == (0, 1)


@pytest.mark.parametrize("mean_seconds", [0.001, 1e7])
def test_tasks_may_take_a_millisecond_or_months(mean_seconds: float) -> None:
    clusters = (cluster(mean_seconds, money(3), 4), cluster(mean_seconds / 2, money(7), 4))
    plan = knapsack(Problem(clusters, 1, money(10**9)))
    assert plan is not None
    assert plan.mix == (1, 1)


def test_prices_finer_than_any_table_are_still_planned_exactly() -> None:
    chance = random.Random(7)
    clusters = tuple(
        cluster(chance.uniform(60, 900), Money(chance.randrange(10**7, 10**9)), 4) for _ in range(4)
    )
    for _ in range(20):
        budget = Money(chance.randrange(10**9, 10**11))
        found = knapsack(Problem(clusters, 300, budget))
        assert same(found, fastest_of_all(clusters, 300, budget))
        assert found is None or found.exact


def test_a_budget_nobody_counts_buys_everything() -> None:
    plan = knapsack(Problem(hourly((15, 5), (3, 12), (32, 32)), 1000, Money(10**30)))
    assert plan is not None
    assert plan.mix == (32, 32)
