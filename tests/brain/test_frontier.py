"""The frontier table equals the plain textbook table, and its mixes are what it says."""

import random

import numpy as np
import pytest
from helpers.market import KINDS, cluster, every_plan, markets, rates
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bats.common.money import NOTHING, Money, money
from bats.master.brain.planning.frontier import MOST_CELLS, frontier
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import TIE, limits


def textbook(clusters: tuple[Cluster, ...], cells: int) -> NDArray[np.float64]:
    """P(price), every machine an item of its own, all prices whole units."""
    row = np.zeros(cells + 1)
    for c in clusters:
        price = c.offering.price
        for _ in range(c.limit):
            row[price:] = np.maximum(row[price:], row[:-price] + c.speed)
    return row


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_the_textbook_one(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")
    clusters = []
    for price in [1, *(chance.randint(1, 60) for _ in range(7))]:
        speed = KINDS[kind](chance, price)
        clusters.append(cluster(1 / speed, Money(price), chance.randint(1, 40)))
    plain = textbook(tuple(clusters), cells=2000)
    table = frontier(tuple(clusters), tuple(c.limit for c in clusters), Money(2000))
    assert table.exact
    ours = np.array([table.speed_within(Money(price)) for price in range(2001)])
    np.testing.assert_allclose(ours, plain, rtol=1e-12)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(markets(one_bill=True), st.integers(1, 100))
def test_every_step_is_a_mix_that_no_other_beats(clusters: tuple[Cluster, ...], tasks: int) -> None:
    most = limits(clusters, tasks)
    everything = list(every_plan(clusters, tasks))
    table = frontier(clusters, most)
    if not table.exact:
        return
    for price, speed in table.steps():
        mix = table.mix_within(price)
        assert rates(mix, clusters) == price
        rivals = [plan.speed for plan in everything if rates(plan.mix, clusters) <= price]
        assert max(rivals) == pytest.approx(speed, rel=2 * TIE)


def test_prices_too_fine_for_a_table_are_rounded_up_and_the_frontier_says_so() -> None:
    clusters = (cluster(900, Money(10**9 + 7), 30), cluster(300, Money(3 * 10**9 + 1), 30))
    table = frontier(clusters, (30, 30))
    assert not table.exact
    assert len(table.row) <= MOST_CELLS + 2
    for price in (money(1), money(17), money(60)):
        mix = table.mix_within(price)
        assert rates(mix, clusters) <= price


def test_free_machines_are_on_every_point_of_the_frontier() -> None:
    clusters = (cluster(900, NOTHING, 3), cluster(900, money(3), 2))
    steps = list(frontier(clusters, (3, 2)).steps())
    assert [price for price, _ in steps] == [NOTHING, money(3), money(6)]
    assert [round(speed * 900) for _, speed in steps] == [3, 4, 5]


def test_without_paid_machines_the_frontier_is_one_point() -> None:
    [(price, speed)] = frontier((cluster(900, NOTHING, 3),), (3,)).steps()
    assert (price, speed) == (NOTHING, pytest.approx(3 / 900))
    assert list(frontier((), ()).steps()) == []
