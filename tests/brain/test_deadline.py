"""The cheapest mix by a deadline is found exactly, for every way of billing."""

import math

import pytest
from helpers.market import cluster, every_plan, hourly, markets, tasks_left
from hypothesis import given, settings
from hypothesis import strategies as st

from bats.common.money import NOTHING, money
from bats.master.brain.planning.deadline import cheapest_within
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.planners import PLANNERS
from bats.master.brain.planning.problem import Problem, all_machines


@settings(max_examples=500, deadline=None, derandomize=True)
@given(markets(), tasks_left, st.one_of(st.floats(0.5, 3), st.just(math.inf)))
def test_no_mix_in_time_is_cheaper(clusters: tuple[Cluster, ...], tasks: int, slack: float) -> None:
    deadline = all_machines(clusters, tasks).makespan_seconds * slack
    found = cheapest_within(clusters, tasks, deadline)
    in_time = [
        plan.cost
        for plan in every_plan(clusters, tasks)
        if plan.makespan_seconds <= deadline * (1 + 1e-9)
    ]
    assert (found.cost if found else None) == min(in_time, default=None)
    assert found is None or found.makespan_seconds <= deadline * (1 + 1e-9)


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_later_deadline_is_never_dearer(planner: str) -> None:
    clusters = hourly((15.1, 3.8), (3, 9), (32, 32))
    costs = []
    for hours in (1, 2, 3, 5, 10, 30, 100):
        plan = PLANNERS[planner].cheapest(Problem(clusters, 889, NOTHING, hours * 3600))
        if plan is not None:
            assert plan.makespan_seconds <= hours * 3600
            costs.append(plan.cost)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == money(510)


def test_a_deadline_before_all_machines_could_finish_cannot_be_met() -> None:
    clusters = hourly((15, 15), (3, 12), (32, 32))
    fastest = all_machines(clusters, 784).makespan_seconds
    assert cheapest_within(clusters, 784, fastest - 1) is None
    exactly = cheapest_within(clusters, 784, fastest)
    assert exactly is not None
    assert exactly.mix == (32, 32)


def test_free_machines_that_are_fast_enough_are_the_answer() -> None:
    clusters = (cluster(60, NOTHING, 4), cluster(60, money(3), 4))
    plan = cheapest_within(clusters, 60, 3600)
    assert plan is not None
    assert (plan.mix, plan.cost) == ((4, 0), NOTHING)


def test_an_empty_bag_is_finished_for_nothing_at_once() -> None:
    plan = cheapest_within(hourly((15,), (3,), (4,)), 0, 0.0)
    assert plan is not None
    assert plan.cost == NOTHING


def test_without_machines_there_is_no_plan() -> None:
    assert cheapest_within(hourly((15,), (3,), (0,)), 5) is None
    assert cheapest_within((), 5) is None
