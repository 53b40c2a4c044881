"""Random variables as histograms whose bins are equally probable (PROB, sections 4.3 and 5).

The paper's bins are all equally probable, so that likely values are told apart finely. The longest
of a thousand tasks, though, is decided by the uppermost bin alone. Ours are the paper's, but the
uppermost is halved again and again: each half holds what is half as probable. All histograms have
the same bins, and a bin stands for the mean of what fell into it, so that means are kept exactly.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from bats.common.records import dataclass

Floats = NDArray[np.float64]

BINS: Final = 200  # the paper's
HALVINGS: Final = 14  # of the uppermost: one in three millions
EDGES: Final = np.concatenate(
    [np.arange(BINS) / BINS, 1 - 0.5 ** np.arange(1, HALVINGS + 1) / BINS, [1.0]]
)
WEIGHTS: Final = np.diff(EDGES)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """A random variable; `points` ascend, and `WEIGHTS` says how probable each is."""

    points: Floats

    def __repr__(self) -> str:
        low, middle, high = (self.quantile(share) for share in (0.1, 0.5, 0.9))
        return (
            f"Histogram(mean {self.mean:.4g}; 10 % {low:.4g}, 50 % {middle:.4g}, 90 % {high:.4g})"
        )

    @property
    def mean(self) -> float:
        return float(self.points @ WEIGHTS)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(max(0.0, float(self.points**2 @ WEIGHTS) - self.mean**2)))

    def quantile(self, probability: float) -> float:
        """The value that is not exceeded with this probability."""
        middle = (EDGES[1:] + EDGES[:-1]) / 2
        return float(np.interp(probability, middle, self.points))

    def chance_within(self, limit: float) -> float:
        """The probability of a value up to `limit`."""
        return float(self.upto(np.array([limit]))[0])

    def upto(self, limits: Floats) -> Floats:
        """F, the cumulated probability, at each of `limits`."""
        return EDGES[np.searchsorted(self.points, limits, side="right")]

    def below(self, limits: Floats) -> Floats:
        """The probability of less than each of `limits`."""
        return EDGES[np.searchsorted(self.points, limits, side="left")]

    def scaled(self, factor: float) -> "Histogram":
        if factor < 0:
            raise ValueError(f"A runtime cannot be scaled by {factor:g}.")
        return Histogram(self.points * factor)

    def shifted(self, by: float) -> "Histogram":
        return Histogram(self.points + by)

    def given_more_than(self, elapsed: float) -> "Histogram":
        """The same of what has not ended after `elapsed`; what outlasts all bins ends at once."""
        still = self.points > elapsed
        if not still.any():
            return constant(elapsed)
        return from_weighted(self.points[still], WEIGHTS[still])

    def draw(self, shape: int | tuple[int, ...], rng: Generator) -> Floats:
        return self.at(rng.random(shape))

    def at(self, probabilities: Floats) -> Floats:
        """Its values at these cumulated probabilities: with the same ones, common numbers."""
        return self.points[np.searchsorted(EDGES, probabilities, side="right") - 1]


def constant(value: float) -> Histogram:
    return Histogram(np.full(WEIGHTS.size, float(value)))


def from_samples(samples: ArrayLike) -> Histogram:
    values = np.asarray(samples, dtype=float)
    if values.size == 0:
        raise ValueError("A histogram needs at least one sample.")
    if not np.isfinite(values).all():
        wrong = int((~np.isfinite(values)).sum())
        raise ValueError(f"{wrong} of {values.size} samples are no finite numbers: leave them out.")
    return from_weighted(values, np.full(values.size, 1.0))


def from_weighted(values: Floats, weights: Floats) -> Histogram:
    """The histogram of atoms: each bin is the mean of its share of them."""
    order = np.argsort(values, kind="stable")
    return _from_ordered(values[order], weights[order])


def mixture(parts: Sequence[tuple[float, Histogram]]) -> Histogram:
    """One of `parts`, each as probable as its weight says."""
    return from_weighted(
        np.concatenate([part.points for _, part in parts]),
        np.concatenate([weight * WEIGHTS for weight, _ in parts]),
    )


def transfer(amount: float, bandwidth: Histogram) -> Histogram:
    """The time that data takes: E[d/b] is more than d/E[b] (section 3.1)."""
    if bandwidth.points[0] <= 0:
        raise ValueError("A bandwidth of nothing transfers nothing: leave such samples out.")
    return _from_ordered(amount / bandwidth.points[::-1], WEIGHTS[::-1])


def runtime(processor: Histogram, *data: tuple[float, Histogram]) -> Histogram:
    """The time of a task by its profile: its processor's, and each amount by its bandwidth (2.1).

    What is moved at the same bandwidth is one amount: two parts would vary by themselves.
    """
    return reduce(add, (transfer(amount, by) for amount, by in data if amount), processor)


def add(x: Histogram, y: Histogram) -> Histogram:
    """X + Y of independent X and Y (4)."""
    if x.points[0] == x.points[-1]:
        return y.shifted(float(x.points[0]))
    if y.points[0] == y.points[-1]:
        return x.shifted(float(y.points[0]))
    return from_weighted(
        np.add.outer(x.points, y.points).ravel(), np.multiply.outer(WEIGHTS, WEIGHTS).ravel()
    )


def product(x: Histogram, y: Histogram) -> Histogram:
    """X · Y of independent X and Y, none below 0: a runtime on a machine of varying speed."""
    if x.points[0] == x.points[-1]:
        return y.scaled(float(x.points[0]))
    if y.points[0] == y.points[-1]:
        return x.scaled(float(y.points[0]))
    return from_weighted(
        np.multiply.outer(x.points, y.points).ravel(), np.multiply.outer(WEIGHTS, WEIGHTS).ravel()
    )


def maximum(x: Histogram, y: Histogram) -> Histogram:
    """The greater of independent X and Y (5): F = F_X · F_Y."""
    values = np.sort(np.concatenate([x.points, y.points]))
    return _from_cumulated(values, x.upto(values) * y.upto(values))


def sum_of(x: Histogram, number: int) -> Histogram:
    """The sum of `number` independent X, by doubling."""
    total, power = constant(0.0), x
    while number:
        if number & 1:
            total = add(total, power)
        number >>= 1
        if number:
            power = add(power, power)
    return total


def maximum_of(x: Histogram, number: int) -> Histogram:
    """The greatest of `number` independent X: F = F_X^number."""
    return _from_cumulated(x.points, x.upto(x.points) ** number)


def chance_more(x: Histogram, y: Histogram) -> float:
    """P(X > Y), where equal values count half."""
    return float(((y.below(x.points) + y.upto(x.points)) / 2) @ WEIGHTS)


def is_more(x: Histogram, y: Histogram) -> bool:
    """X > Y: P(X > Y) > 0.5 (6), asked of the bounds (9) and (10) first, which often decide."""
    if x.points[0] > y.points[-1]:
        return True
    if x.points[-1] < y.points[0]:
        return False
    if 1 - x.chance_within(float(y.points[-1])) > 0.5:  # (9): P(X > Y) >= 1 - F_X(Y.r)
        return True
    if 1 - float(x.below(y.points[:1])[0]) < 0.5:  # (10): P(X > Y) <= 1 - F_X(Y.l)
        return False
    return chance_more(x, y) > 0.5


def bhattacharyya(x: Histogram, y: Histogram, cells: int = 20) -> float:
    """The distance of two distributions: 0 if they are alike, endless if they share no value."""
    pooled = mixture([(0.5, x), (0.5, y)])
    cuts = np.unique(np.quantile(pooled.points, np.linspace(0, 1, cells + 1)[1:-1]))
    p, q = (np.diff(one.upto(cuts), prepend=0.0, append=1.0) for one in (x, y))
    alike = float(np.sqrt(p * q).sum())
    return float("inf") if alike <= 0 else max(0.0, -float(np.log(min(1.0, alike))))


def _from_cumulated(values: Floats, upto: Floats) -> Histogram:
    return _from_ordered(values, np.diff(upto, prepend=0.0))


def _from_ordered(values: Floats, weights: Floats) -> Histogram:
    """Bins are differences of the integral of the quantile function, which is linear in parts."""
    upto = np.concatenate([[0.0], np.cumsum(weights)])
    integral = np.concatenate([[0.0], np.cumsum(values * weights)])
    # The first value is taken out, so that differences of large sums do not blur small bins.
    lowest = values[0]
    integral -= lowest * upto
    at_edges = np.interp(EDGES * upto[-1], upto, integral)
    points = lowest + np.diff(at_edges) / (WEIGHTS * upto[-1])
    points = np.clip(points, lowest, values[-1])
    return Histogram(np.maximum.accumulate(points))
