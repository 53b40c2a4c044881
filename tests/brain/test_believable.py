"""Offers one can believe: in order of price, and none that another one dominates."""

import random

import pytest

from bats.common.errors import CannotBeMetError
from bats.common.money import Money, money
from bats.master.brain.planning.believable import (
    NAMES,
    NOISE,
    believable,
    resolve,
    why_not_shown,
)
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.bounds import Bounds


def told(
    name: str, cost: int | str, seconds: float, *, most: int | str = 0, longest: float = 0.0
) -> Schedule:
    price = money(cost)
    bounds = Bounds(
        0.9, longest or 1.2 * seconds, money(most) if most else price, 0.95, 1.0, seconds, price
    )
    return Schedule(name, price, (1,), seconds, price, delta_n=0, bounds=bounds)


def names(offers: tuple[Schedule, ...]) -> list[str]:
    return [one.name for one in offers]


def test_a_dearer_offer_that_is_slower_is_not_shown() -> None:
    offers = believable([told("fastest", 4, 55), told("cheapest", 1, 28)])
    assert names(offers) == ["cheapest"]


def test_a_dearer_offer_that_is_faster_by_less_than_predictions_waver_is_not_shown() -> None:
    noise = 100 * (1 - NOISE / 2)
    assert names(believable([told("cheapest", 1, 100), told("fastest", 2, noise)])) == ["cheapest"]
    assert len(believable([told("cheapest", 1, 100), told("fastest", 2, 90)])) == 2


def test_offers_are_shown_in_the_order_of_their_prices() -> None:
    offers = believable(
        [told("fastest", 3, 10), told("cheapest", 1, 30), told("fastest-20%", 2, 20)]
    )
    assert names(offers) == ["cheapest", "fastest-20%", "fastest"]


def test_one_that_is_better_at_worst_in_price_and_time_replaces_what_costs_less_on_average() -> (
    None
):
    wavers = told("cheapest", 10, 100, most=30, longest=500)
    surely = told("cheapest+10%", 11, 99, most=12, longest=120)
    assert names(believable([wavers, surely])) == ["cheapest+10%"]


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_in_random_worlds_no_offer_dominates_another(first: int) -> None:
    """The twin looks at every pair."""
    for seed in range(first, first + 500):
        rng = random.Random(seed)
        drawn = [
            told(name, rng.randint(1, 9), rng.randint(1, 9) * 10.0, most=rng.randint(9, 12))
            for name in NAMES
        ]
        offers = believable(drawn)
        assert offers
        for one in offers:
            for other in offers:
                if one is not other:
                    assert one.cost > other.cost or one.makespan_seconds > other.makespan_seconds
        assert [one.cost for one in offers] == sorted(one.cost for one in offers)


SHOWN = (told("cheapest+10%", 1, 30), told("fastest-20%", 2, 20))


@pytest.mark.parametrize(
    ("rule", "taken"),
    [
        ("fastest", "fastest-20%"),
        ("fastest-10%", "fastest-20%"),
        ("cheapest+20%", "cheapest+10%"),
        ("cheapest", "cheapest+10%"),
        ("cheapest+10%", "cheapest+10%"),
        ("balanced", "cheapest+10%"),
    ],
)
def test_a_name_that_is_not_shown_means_the_nearest_cheaper_offer(rule: str, taken: str) -> None:
    assert resolve(SHOWN, rule).name == taken


def test_that_another_one_is_taken_is_said() -> None:
    said = why_not_shown(SHOWN, "fastest", SHOWN[1])
    assert said == "fastest is no faster than fastest-20%, which is taken"
    said = why_not_shown(SHOWN, "cheapest", SHOWN[0])
    assert said == "cheapest costs no less than cheapest+10%, which is taken"
    assert why_not_shown(SHOWN, "fastest-20%", SHOWN[1]) == ""


def test_a_name_that_means_nothing_is_refused() -> None:
    with pytest.raises(CannotBeMetError, match="No schedule is called 'soon'"):
        resolve(SHOWN, "soon")


def test_what_was_not_foretold_is_judged_by_what_is_expected() -> None:
    plain = [
        Schedule("cheapest", Money(1), (1,), 10.0, Money(1), delta_n=0),
        Schedule("fastest", Money(2), (2,), 10.0, Money(2), delta_n=0),
    ]
    assert names(believable(plain)) == ["cheapest"]
