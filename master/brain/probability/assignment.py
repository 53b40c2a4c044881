"""The search for an assignment: for each stage a choice, so that the sum of one thing is least.

The sum of another keeps to a limit: time within money, or money within time. `a_star` goes by the
most promising, `breadth_first` stage by stage; both are exact, and drop what is dominated by
another of the same stages. That a stage's choices are evaluated once for all assignments is the
partial evaluation of PROB (4.3): two assignments differ by the stages in which their choices do.
"""

import heapq
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

Meaning = TypeVar("Meaning")

MOST_LOOKED_AT: Final = 50_000
"""Partial assignments after which A* is content with what the prices of its bound choose."""

SLACK: Final = 1e-9  # relative: a sum of floats at the limit is within it


class Choice(NamedTuple, Generic[Meaning]):
    value: float  # of which the sum is to be least
    weight: float  # of which the sum is limited
    means: Meaning


Stages = Sequence[Sequence[Choice[Meaning]]]
Found = tuple[Choice[Meaning], ...]


def undominated(choices: Sequence[Choice[Meaning]]) -> list[Choice[Meaning]]:
    """Those for which no other is as good in both: by rising weight and falling value."""
    kept: list[Choice[Meaning]] = []
    for one in sorted(choices, key=lambda choice: (choice.weight, choice.value)):
        if not kept or one.value < kept[-1].value:
            kept.append(one)
    return kept


def a_star(stages: Stages[Meaning], limit: float) -> Found[Meaning] | None:
    """The best assignment within the limit; None if there is none.

    What is still to come is bounded from below by prices λ of the weight: Σ min(value + λ·weight)
    less λ times what is left of the limit (Lagrange), the best of some λ.
    """
    options = [undominated(stage) for stage in stages]
    limit = limit * (1 + SLACK)
    if sum(min(one.weight for one in stage) for stage in options) > limit:
        return None
    price = _price(options, limit)
    prices = (0.0, price / 2, price, 2 * price)
    rest = [_rests(options, one) for one in prices]
    least = _rests([[Choice(one.weight, 0.0, None) for one in stage] for stage in options], 0.0)

    def bound(stage: int, weight: float) -> float:
        left = limit - weight
        return max(of[stage] - one * left for of, one in zip(rest, prices, strict=True))

    ways: list[tuple[int, int]] = [(-1, 0)]  # the way before, and the choice that came to it
    queue = [
        (bound(0, 0.0), 0, 0.0, 0.0, 0)
    ]  # by promise; stages done are negative, deep ones first
    seen: list[tuple[list[float], list[float]]] = [([], []) for _ in range(len(options) + 1)]
    while queue:
        _, deep, value, weight, way = heapq.heappop(queue)
        stage = -deep
        if stage == len(options):
            return _told(options, ways, way)
        if _dominated(seen[stage], value, weight):
            continue
        if len(ways) > MOST_LOOKED_AT:
            break
        for number, one in enumerate(options[stage]):
            heavier = weight + one.weight
            if heavier + least[stage + 1] > limit:
                break  # they are ordered by weight
            ways.append((way, number))
            dearer = value + one.value
            promise = dearer + max(0.0, bound(stage + 1, heavier))
            heapq.heappush(queue, (promise, -(stage + 1), dearer, heavier, len(ways) - 1))
    return _by_price(options, _high_enough(options, limit))


def breadth_first(stages: Stages[Meaning], limit: float) -> Found[Meaning] | None:
    """The same, stage by stage: all assignments of the first stages that are not dominated."""
    limit = limit * (1 + SLACK)
    parts: list[Choice[Found[Meaning]]] = [Choice(0.0, 0.0, ())]
    for stage in stages:
        parts = undominated(
            [
                Choice(part.value + one.value, part.weight + one.weight, (*part.means, one))
                for part in parts
                for one in undominated(stage)
                if part.weight + one.weight <= limit
            ]
        )
    return parts[-1].means if parts else None


def _told(options: Stages[Meaning], ways: Sequence[tuple[int, int]], way: int) -> Found[Meaning]:
    chosen = []
    for stage in reversed(options):
        way, number = ways[way]
        chosen.append(stage[number])
    return tuple(reversed(chosen))


def _dominated(seen: tuple[list[float], list[float]], value: float, weight: float) -> bool:
    """True if one that was looked at is as good in both; else it is taken in.

    `seen` are rising weights and the falling values to them.
    """
    weights, values = seen
    place = bisect_right(weights, weight)
    if place and values[place - 1] <= value:
        return True
    end = place
    while end < len(values) and values[end] >= value:
        end += 1
    weights[place:end], values[place:end] = [weight], [value]
    return False


def _rests(options: Stages[Meaning], price: float) -> list[float]:
    """Of each stage the least that it and all after it come to, and 0 behind the last."""
    found = [0.0]
    for stage in reversed(options):
        found.append(found[-1] + min(one.value + price * one.weight for one in stage))
    return found[::-1]


def _price(options: Stages[Meaning], limit: float) -> float:
    """The price of weight at which the best of each stage come nearest to the limit."""
    high = _high_enough(options, limit)
    low = 0.0
    for _ in range(30):
        middle = (low + high) / 2
        if _weight(_by_price(options, middle)) > limit:
            low = middle
        else:
            high = middle
    return high


def _high_enough(options: Stages[Meaning], limit: float) -> float:
    """A price of weight at which the best of each stage keep to the limit."""
    price = 0.0
    while _weight(_by_price(options, price)) > limit:
        price = 2 * price or 1e-12
        if math.isinf(price):  # the least there is is the limit itself
            break
    return min(price, 1e300)


def _by_price(options: Stages[Meaning], price: float) -> Found[Meaning]:
    return tuple(
        min(stage, key=lambda one: (one.value + price * one.weight, one.weight))
        for stage in options
    )


def _weight(found: Found[Meaning]) -> float:
    return math.fsum(one.weight for one in found)
