"""One knapsack, one budget: as fast as the table says, also where values coincide."""

import random

import pytest
from helpers.market import KINDS, cluster

from bats.common.money import Money
from bats.master.brain.planning.bounded_knapsack import most_speed
from bats.master.brain.planning.frontier import frontier


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_it_buys_as_much_speed_as_the_table_knows(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")
    prices = [chance.randint(20, 900) for _ in range(15)]
    speeds = [KINDS[kind](chance, price) for price in prices]
    counts = [chance.randint(1, 150) for _ in prices]
    clusters = tuple(
        cluster(1 / speed, Money(price), count)
        for speed, price, count in zip(speeds, prices, counts, strict=True)
    )
    table = frontier(clusters, tuple(counts))
    for _ in range(5):
        budget = chance.randint(1, sum(map(int.__mul__, prices, counts)))
        bought = most_speed(speeds, prices, counts, budget)
        assert sum(map(int.__mul__, bought.counts, prices)) <= budget
        assert all(0 <= a <= A for a, A in zip(bought.counts, counts, strict=True))
        speed = sum(a * s for a, s in zip(bought.counts, speeds, strict=True))
        assert speed == pytest.approx(table.speed_within(Money(budget)), rel=1e-9)
        assert bought.exact


def test_of_coinciding_values_few_large_machines_are_bought() -> None:
    assert most_speed([1, 2, 4, 8], [1, 2, 4, 8], [50, 50, 50, 50], 47).counts == (1, 1, 1, 5)


def test_amounts_beyond_64_bits_are_no_trouble() -> None:
    huge = 10**25
    assert most_speed([1.0, 1.5], [huge, 2 * huge], [10, 10], 5 * huge).counts == (5, 0)
    odd = most_speed([1.0, 1.5], [huge, 2 * huge + 1], [10, 10], 5 * huge)
    assert odd.counts == (4, 0)  # prices are rounded up, so that the budget surely holds
    assert not odd.exact
    assert most_speed([1.0], [huge], [10], huge - 1).counts == (0,)


def test_without_money_nothing_is_bought() -> None:
    assert most_speed([1.0, 2.0], [3, 4], [5, 5], 0).counts == (0, 0)
    assert most_speed([], [], [], 10).counts == ()
