"""PFA spends a budget by throughput: the worked example, and what must hold of every example."""

import math
import random

import pytest

from bats.common.money import Money, money
from bats.master.brain.scaling.budgets.pfa import (
    ExponentialAverage,
    MovingAverage,
    inflated,
    spent,
)
from bats.master.brain.scaling.scaler import Kind

KINDS = [Kind("Small", 32, money(1)), Kind("Large", 32, money(5))]


def heard() -> MovingAverage:
    average = MovingAverage()
    average.hear((2.0, 6.0))
    return average


def test_shares_depth_and_throughput_of_the_worked_example():
    need = heard().hear((1.0, 3.0))
    assert need.shares == pytest.approx((0.25, 0.75))
    assert (need.depth, need.each) == (3, 3.0)


def test_a_budget_of_sixty_buys_ten_of_each_where_sixty_tokens_need_twenty():
    shares = heard().hear((1.0, 3.0)).shares
    assert spent(money(60), KINDS, shares, math.ceil(60 / 3)) == [10, 10]
    assert spent(money(60), KINDS, shares, math.ceil(21 / 3)) == [2, 6]
    # Before anything is inflated: 3 and 11, what is left buys two Small.
    assert inflated(money(60), [one.price for one in KINDS], [3, 11], 16) == [5, 11]


def test_a_kind_that_has_achieved_nothing_is_held_to_be_as_good_as_others():
    average = MovingAverage()
    assert average.hear((0.0, 0.0)) == ([0.5, 0.5], math.inf, 0.0)
    need = average.hear((0.0, 6.0))
    assert need.shares == [0.5, 0.5]
    assert need.each == 3.0
    assert average.hear((1.0, 3.0)).shares == pytest.approx((0.125, 0.875))


def test_intervals_beyond_the_window_are_forgotten():
    average = MovingAverage(m=1)
    for throughput in ((9.0, 1.0), (1.0, 3.0), (1.0, 3.0)):
        need = average.hear(throughput)
    assert need.shares == pytest.approx((0.25, 0.75))


def test_an_exponential_average_weighs_the_past_with_alpha():
    average = ExponentialAverage(0.8)
    first = average.hear((1.0, 3.0))
    assert first.shares == pytest.approx((0.8 * 0.5 + 0.2 * 0.25, 0.8 * 0.5 + 0.2 * 0.75))
    assert (first.depth, first.each) == (2, 2.0)
    assert average.hear((0.0, 3.0)).shares == [0.5, 0.5]
    assert average.hear((0.0, 0.0)).depth == math.inf


@pytest.mark.parametrize("seed", range(200))
def test_shares_are_a_whole_and_what_is_bought_costs_no_more_than_the_budget(seed: int):
    rng = random.Random(seed)
    kinds = [
        Kind(str(k), 10**6, Money(rng.choice([1, 7, 10**9, 5 * 10**9])))
        for k in range(rng.randrange(1, 5))
    ]
    average = rng.choice([MovingAverage(rng.randrange(1, 4)), ExponentialAverage(0.7)])
    for _ in range(rng.randrange(1, 6)):
        need = average.hear([rng.choice([0.0, 1.0, 2.5, 40.0]) for _ in kinds])
    assert sum(need.shares) == pytest.approx(1)
    budget = money(rng.choice([0, 3, 60, 100]))
    needed = rng.choice([0, 1, 20, 3000])
    bought = spent(budget, kinds, need.shares, needed)
    assert sum(n * kind.price for n, kind in zip(bought, kinds, strict=True)) <= budget
    assert min(bought) >= 0
    most = [int(budget * rho / sum(k.price * r for k, r in zip(kinds, need.shares, strict=True))
                + 1e-9) for rho in need.shares]  # fmt: skip
    if sum(most) > needed:  # (5.14)
        assert needed <= sum(bought) <= sum(most)
