"""The efficient strategies, and choosing among them."""

import itertools
import random
from dataclasses import replace

import pytest

from bats.master.brain.unreliable.estimator import Estimate, estimate
from bats.master.brain.unreliable.pools import NEVER, Pool, World
from bats.master.brain.unreliable.preference import chosen, utility
from bats.master.brain.unreliable.strategy import STATIC, Strategy, static
from bats.master.brain.unreliable.tradeoff import efficient, frontier, grid, knee

POOL = Pool(tuple(1000.0 + 40.0 * k for k in range(60)), 1.0, 3600.0, reliability=0.827)
WORLD = World(60, 20, POOL, Pool((2300.0,), 34.0, 3600.0))
ANY = Strategy(0, 1.0, 1.0, 0.1)


def came_to(seconds: float, cost: float) -> Estimate:
    return Estimate(ANY, seconds, 0.0, seconds, cost, 0.0, 0.0, 0.0, 0.0)


def test_no_efficient_one_is_beaten_and_each_other_is():
    rng = random.Random(3)
    for _ in range(50):
        some = [came_to(rng.randint(1, 9), rng.randint(1, 9)) for _ in range(12)]
        some.append(came_to(NEVER, 1.0))
        found = {(e.seconds, e.cost) for e in efficient(some)}
        twin = {
            (a.seconds, a.cost)
            for a in some
            if a.seconds < NEVER
            and not any(
                b.seconds <= a.seconds
                and b.cost <= a.cost
                and (b.seconds, b.cost) != (a.seconds, a.cost)
                for b in some
            )
        }
        assert found == twin


def test_the_frontier_gets_cheaper_as_it_gets_slower_and_every_point_is_a_strategy():
    found = frontier(WORLD, 0.2)
    assert len(found) >= 4
    for faster, slower in itertools.pairwise(found):
        assert faster.seconds < slower.seconds
        assert faster.cost > slower.cost
    assert all(e.strategy.M_r <= 0.2 and e.seconds_spread > 0 for e in found)


def test_no_static_strategy_is_better_in_both_than_all_of_the_frontier():
    found = frontier(WORLD, 0.2)
    for ours in estimate(WORLD, [static(n, WORLD, 0.2, 300.0) for n in STATIC], 60):
        assert not all(ours.seconds < 0.97 * e.seconds and ours.cost < 0.97 * e.cost for e in found)
        assert ours.seconds * ours.cost > 0.9 * knee(found).seconds * knee(found).cost


def test_without_reliable_machines_tasks_are_sent_until_they_return():
    alone = replace(WORLD, reliable=None)
    assert all(s.N is None for s in grid(alone, 0.5))
    assert frontier(alone, 0.5)


def test_where_nothing_ever_returns_there_is_no_frontier_but_by_reliable_machines():
    dead = replace(POOL, reliability=0.0)
    assert frontier(World(3, 2, dead), 0.0) == []
    assert frontier(World(3, 2, dead, WORLD.reliable), 0.5)


FRONT = [came_to(3600.0, 9.0), came_to(7200.0, 4.0), came_to(36000.0, 1.0)]


@pytest.mark.parametrize(
    ("by", "limits", "cost"),
    [
        ("cheapest", {}, 1.0),
        ("fastest", {}, 9.0),
        ("product", {}, 4.0),
        ("fastest", {"budget": 5.0}, 4.0),
        ("cheapest", {"deadline_seconds": 7200.0}, 4.0),
        ("cost + 10 * makespan", {}, 9.0),
        ("cost + 0.1 * makespan", {}, 1.0),
        ("max(cost, makespan ** 2)", {}, 4.0),
        ("-makespan", {}, 1.0),
    ],
)
def test_one_is_chosen_by_a_name_a_limit_or_a_formula(
    by: str, limits: dict[str, float], cost: float
):
    one = chosen(FRONT, by, **limits)
    assert one is not None
    assert one.cost == cost


def test_within_impossible_limits_there_is_none():
    assert chosen(FRONT, "fastest", budget=0.5) is None


@pytest.mark.parametrize(
    "formula",
    ["__import__('os').system('true')", "cost.real", "cost if cost else 1", "price", "'a' * 9",
     "cost +", "[cost]", "lambda: 1", "min()", "(1).__class__", "max(cost, key=abs)",
     "True", "cost" + " + cost" * 100],
)  # fmt: skip
def test_what_is_no_formula_is_refused(formula: str):
    with pytest.raises(ValueError, match="formula"):
        utility(formula)


@pytest.mark.parametrize("formula", ["1 / (cost - 9)", "9 ** 9 ** 9 ** 9", "log(-cost)"])
def test_what_cannot_be_worked_out_is_the_worst(formula: str):
    assert utility(formula)(1.0, 9.0) == float("inf")
