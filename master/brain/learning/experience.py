"""Experience: what earlier bags of the same command took, as a few equal shares of their runtimes.

A sample of some ten or thirty tasks says next to nothing of the longest ones. Earlier bags of the
same command do, though their inputs were others: only the shape of their runtimes is taken, the
mean is the sample's own. It counts as so many tasks more (a power prior: Ibrahim and Chen 2000),
the fewer the older it is, and not at all where the sample contradicts it (Kolmogorov-Smirnov).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.arrays import np

SHARES: Final = 64  # of runtimes that are kept
MOST: Final = 10.0  # tasks that experience counts as, however much of it there is
HALF_LIFE_SECONDS: Final = 30 * 86400.0
CONTRADICTED: Final = 1.36  # the Kolmogorov-Smirnov statistic times √n beyond which p < 5 %


@dataclass(frozen=True, slots=True)
class Experience:
    """The tasks of one command on one offering."""

    count: int  # of tasks
    runtimes: tuple[float, ...]  # rising: means of equal shares, `SHARES` at most
    at: float = 0.0  # when the last of them ended, by the calendar

    @classmethod
    def of(cls, runtimes: Sequence[float], at: float) -> Experience:
        return cls(len(runtimes), shares(sorted(runtimes)), at)

    def with_more(self, newer: Experience) -> Experience:
        """Both together, each with the weight of its tasks; the older no heavier than the newer."""
        old = min(self.count, newer.count)
        weighted = sorted(
            [(x, old / len(self.runtimes)) for x in self.runtimes]
            + [(x, newer.count / len(newer.runtimes)) for x in newer.runtimes]
        )
        values, weights = (np.array(column) for column in zip(*weighted, strict=True))
        number = min(SHARES, self.count + newer.count)
        return Experience(
            self.count + newer.count, _equal_shares(values, weights, number), newer.at
        )

    def weight(self, now: float) -> float:
        """The number of tasks that it counts as."""
        age: float = max(0.0, now - self.at) / HALF_LIFE_SECONDS
        return min(MOST, self.count) * math.exp2(-age)


def shares(rising: Sequence[float]) -> tuple[float, ...]:
    """The means of equal shares of these runtimes."""
    values = np.asarray(rising, dtype=np.float64)
    return _equal_shares(values, np.ones(values.size), min(SHARES, values.size))


def runtimes_with_earlier(
    sample: Sequence[float], earlier: Sequence[float], weight: float
) -> tuple[float, ...]:
    """The sample with so many tasks more, as earlier bags had them, stretched to its mean.

    As it is, where it contradicts them.
    """
    number = round(weight)
    if number < 1 or not earlier or len(sample) < 2:
        return tuple(sample)
    own = np.sort(np.asarray(sample, dtype=np.float64))
    theirs = np.asarray(earlier, dtype=np.float64)
    theirs = theirs * (own.mean() / theirs.mean())
    if _distance(own, theirs) * math.sqrt(own.size) > CONTRADICTED:
        return tuple(sample)
    more = _equal_shares(theirs, np.ones(theirs.size), min(number, theirs.size))
    return tuple(sorted([*own.tolist(), *more]))


def _distance(sample: np.ndarray, known: np.ndarray) -> float:
    """The largest distance between the two empirical distributions."""
    everything = np.concatenate([sample, known])
    mine = np.searchsorted(sample, everything, side="right") / sample.size
    other = np.searchsorted(np.sort(known), everything, side="right") / known.size
    return float(np.abs(mine - other).max())


def _equal_shares(values: np.ndarray, weights: np.ndarray, number: int) -> tuple[float, ...]:
    upto = np.concatenate([[0.0], np.cumsum(weights)])
    sums = np.concatenate([[0.0], np.cumsum(values * weights)])
    at = np.interp(np.linspace(0.0, upto[-1], number + 1), upto, sums)
    return tuple(float(mean) for mean in np.diff(at) * number / upto[-1])
