"""The end of a bag lies between the bounds told beforehand as often as they say."""

import heapq
import math
import random

import pytest

from bats.master.brain.learning.profile import RuntimeProfile
from bats.master.brain.prediction.expected_end import CONFIDENCE, eta_bounds


def ends(runtimes: list[float], slots: int) -> float:
    """The end of the last if each slot takes the next as soon as it is free."""
    free = [0.0] * slots
    for runtime in runtimes:
        heapq.heappush(free, heapq.heappop(free) + runtime)
    return max(free)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0])
@pytest.mark.parametrize(("tasks", "slots"), [(40, 8), (400, 8), (400, 1)])
def test_the_end_lies_between_the_bounds(tasks: int, slots: int, sigma: float) -> None:
    chance = random.Random(f"{tasks} {slots} {sigma}")
    runs, inside = 600, 0
    for _ in range(runs):
        known = RuntimeProfile(chance.lognormvariate(0, sigma) for _ in range(40))
        low, high = eta_bounds(
            tasks, slots / known.mean_done, slots, known.spread, known.count, known.longest
        )
        rest = [chance.lognormvariate(0, sigma) for _ in range(tasks)]
        inside += low <= ends(rest, slots) <= high
    assert inside / runs >= CONFIDENCE - 0.07  # of tails as long as σ = 1 has, too few are seen


def test_more_is_known_the_longer_it_runs() -> None:
    widths = [
        high - low
        for low, high in (
            eta_bounds(1000 - done, 2.0, 4, 0.5, 30 + done, 5.0) for done in (0, 300, 600, 900)
        )
    ]
    assert widths == sorted(widths, reverse=True)
    assert all(math.isfinite(width) for width in widths)
