"""Lines between clusters: what a task that took t here takes there (T §3.1.3).

t_k = β0 + β1·t_base is fitted by least squares on the few tasks that ran on every cluster.
Between any two clusters k, j the line leads through the base:
β1_{k,j} = β1_{k,b}/β1_{j,b} and β0_{k,j} = β0_{k,b} - β1_{k,j}·β0_{j,b}.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from bats.common.records import dataclass

SHORTEST_SECONDS: Final = 1e-9
SCATTER: Final = 0.05  # machines of a kind differ by so much at least, from task to task
LONE_SCATTER: Final = 0.2  # where one pair cannot tell
CONFIDENCE: Final = 0.95  # one-sided, that runtimes there rise with runtimes here


@dataclass(frozen=True, slots=True)
class Line:
    """Converts runtimes of one cluster into runtimes of another.

    Below `least`, the shortest runtime the line was fitted on, a line with β0 < 0 would come to
    nothing and less; there it bends and goes straight to the origin.
    """

    beta0: float
    beta1: float
    least: float = 0.0
    doubt: str | None = None  # why it is not a least-squares fit, if it is not
    error: float = math.inf  # relative (one σ), of the speed that it tells

    def convert(self, seconds: float) -> float:
        """The runtime there of a task that takes `seconds` here; always more than nothing."""
        if self.beta0 < 0 and seconds < self.least:
            there = seconds * (self.beta0 / self.least + self.beta1)
        else:
            there = self.beta0 + self.beta1 * seconds
        return max(there, SHORTEST_SECONDS)

    def back(self, seconds: float) -> float:
        """The runtime here of a task that takes `seconds` there."""
        if self is SAME:
            return seconds
        return max((seconds - self.beta0) / self.beta1, SHORTEST_SECONDS)


SAME: Final = Line(0.0, 1.0, error=0.0)
"""The line from a cluster to itself."""

UNTRIED: Final = Line(0.0, 1.0, doubt="no task of the sample has ended there")
"""The line to a cluster that the sample tells nothing of: its first tasks tell the ratio."""


def fit(base: Sequence[float], other: Sequence[float]) -> Line:
    """The line from `base` to `other`, whose i-th runtimes belong to the same task.

    Where the pairs determine no rising line, the ratio of the means converts, and `doubt` says why.
    """
    n = len(base)
    if n != len(other):
        raise ValueError(f"runtimes come in pairs, not {n} here and {len(other)} there")
    if n == 0:
        return Line(0.0, 1.0, doubt="no task has run on both clusters; equal speed is assumed")
    x, y = math.fsum(base) / n, math.fsum(other) / n
    if x <= 0 or y <= 0:
        return Line(0.0, 1.0, doubt="the tasks took no time; equal speed is assumed")
    ratio = y / x
    scatter = math.fsum((o - ratio * b) ** 2 for b, o in zip(base, other, strict=True))
    relative = max(SCATTER, math.sqrt(scatter / max(1, n - 1)) / y) if n > 1 else LONE_SCATTER
    error = relative / math.sqrt(n)
    if n < 2:
        return Line(0.0, ratio, doubt="a single task has run on both clusters", error=error)
    Sxx = math.fsum((b - x) ** 2 for b in base)
    Syy = math.fsum((o - y) ** 2 for o in other)
    Sxy = math.fsum((b - x) * (o - y) for b, o in zip(base, other, strict=True))
    if Sxx <= (1e-9 * x) ** 2 * n or Syy <= (1e-9 * y) ** 2 * n:
        return Line(0.0, ratio, doubt="the tasks all took the same time", error=error)
    beta1 = Sxy / Sxx
    if beta1 <= 0:
        words = f"longer tasks here were shorter there (β1 = {beta1:.3g})"
        return Line(0.0, ratio, doubt=words, error=error)
    if Sxy / math.sqrt(Sxx * Syy) < _least_correlation(n):
        words = "runtimes on the two clusters hardly go together"
        return Line(0.0, ratio, doubt=words, error=error)
    beta0 = y - beta1 * x
    least = min(base)
    if beta0 + beta1 * least <= 0:
        words = "the fit leaves no time for the shortest task"
        return Line(0.0, ratio, doubt=words, error=error)
    return Line(beta0, beta1, least, error=error)


@lru_cache
def _least_correlation(n: int) -> float:
    """The correlation of n pairs from which on a rising line is more than chance.

    A slope that is mostly noise would do harm where it is divided by.
    """
    if n <= 2:
        return 0.0
    from scipy.special import stdtrit  # takes a fifth of a second to load

    t = float(stdtrit(n - 2, CONFIDENCE))
    return t / math.sqrt(n - 2 + t * t)
