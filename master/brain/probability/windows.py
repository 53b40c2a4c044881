"""The length of the window of past measurements that tells best what comes (PROB section 5.1).

What is measured in one window is taken for the distribution of the next. A short window follows
what changes and knows little; a long one the other way round. The best is the one whose windows
were nearest to those that followed them, by the Bhattacharyya distance.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from bats.master.brain.probability.histogram import bhattacharyya, from_samples

LEAST = 10  # measurements that make a window


class Measured(NamedTuple):
    at: float  # seconds
    value: float


def best_window(measured: Sequence[Measured], lengths: Sequence[float]) -> float:
    """The length that told best what followed; the longest, if none can be judged."""
    if not lengths:
        raise ValueError("There is no length of a window to choose from.")
    by_distance = {length: _distance(measured, length) for length in lengths}
    return min(sorted(lengths, reverse=True), key=by_distance.__getitem__)


def _distance(measured: Sequence[Measured], length: float) -> float:
    windows: dict[int, list[float]] = {}
    for at, value in measured:
        windows.setdefault(math.floor(at / length), []).append(value)
    pairs = [
        (windows[number], windows[number + 1])
        for number in windows
        if len(windows[number]) >= LEAST and len(windows.get(number + 1, ())) >= LEAST
    ]
    if not pairs:
        return math.inf
    apart = [bhattacharyya(from_samples(one), from_samples(two)) for one, two in pairs]
    return sum(apart) / len(apart)
