"""The second planner agrees with the first, and takes side constraints."""

import random

import pytest
from helpers.market import budgets, cluster, fastest_of_all, hourly, markets, same
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bats.common.money import NOTHING, Money, money
from bats.master.brain.planning import milp as milp_module
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.milp import LOOKS, SideConstraints, briefly, milp
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import Problem, lowest_budget


@settings(max_examples=60, deadline=None, derandomize=True)
@given(markets(), st.integers(1, 1000), st.floats(0, 1))
def test_no_mix_at_all_is_better_than_the_one_found(
    clusters: tuple[Cluster, ...], tasks: int, share: float
) -> None:
    prices = [c.offering.price for c in clusters if not c.offering.free]
    assume(max(prices, default=1) < 1e4 * min(prices, default=1))  # HiGHS has tolerances
    budget = budgets(clusters, tasks, share, 0)
    found = milp(Problem(clusters, tasks, budget))
    best = fastest_of_all(clusters, tasks, budget)
    assert same(found, best), (found, best)


@pytest.mark.parametrize("seed", range(12))
def test_both_planners_agree_on_larger_markets(seed: int) -> None:
    chance = random.Random(seed)
    atus = [3600.0] if seed % 2 else [60.0, 600.0, 3600.0]
    clusters = tuple(
        cluster(
            chance.uniform(30, 1800),
            money(f"{chance.uniform(0.01, 2):.2f}"),
            chance.randint(1, 60),
            atu_seconds=chance.choice(atus),
            slots=chance.choice([1, 2, 4]),
        )
        for _ in range(8)
    )
    for _ in range(2):
        problem = Problem(
            clusters, chance.randint(1000, 20_000), money(str(chance.randint(20, 800)))
        )
        ours, other = knapsack(problem), milp(problem)
        assert same(ours, other), (ours, other)
        assert ours is None or ours.exact


def test_a_master_is_not_kept_waiting_by_what_takes_many_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a few kinds with hundreds of machines each it took minutes."""
    chance = random.Random(8)
    clusters = tuple(
        cluster(chance.uniform(120, 1800), money(f"{chance.uniform(0.05, 3):.4f}"), 300)
        for _ in range(8)
    )
    problem = Problem(clusters, 100_000, lowest_budget(clusters, 100_000))
    solved = []
    solve = milp_module._solve
    monkeypatch.setattr(milp_module, "_solve", lambda *a: solved.append(a) or solve(*a))
    assert same(briefly(problem), knapsack(problem))
    assert 0 < len(solved) <= 3 * LOOKS


def test_a_most_number_of_machines_is_kept_and_used_well() -> None:
    clusters = hourly((15, 5), (3, 12), (32, 32))
    plan = milp(Problem(clusters, 520, money(10_000)), SideConstraints(most_machines=20))
    assert plan is not None
    assert plan.mix == (0, 20)


def test_a_budget_too_small_by_a_millionth_part_is_too_small() -> None:
    clusters = (cluster(86957, Money(1), 2, atu_seconds=1.0),)
    assert milp(Problem(clusters, 23, Money(2_000_011))) == knapsack(
        Problem(clusters, 23, Money(2_000_011))
    )


def test_the_edges_are_those_of_the_other_planner() -> None:
    clusters = hourly((15,), (3,), (4,))
    assert milp(Problem(clusters, 10, NOTHING)) is None
    assert milp(Problem((), 10, money(1))) is None
    assert milp(Problem(clusters, 0, NOTHING)) == knapsack(Problem(clusters, 0, NOTHING))
    assert milp(Problem(clusters, 10, money(100), deadline_seconds=1.0)) is None
    free = (cluster(900, NOTHING, 3), cluster(1, money(10**6), 0))
    plan = milp(Problem(free, 10, NOTHING))
    assert plan is not None
    assert plan.mix == (3, 0)
