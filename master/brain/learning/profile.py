"""Runtimes of a cluster as they become known, one finished task at a time (T §2.2.1).

T_i = (Σ τe of running tasks + Σ runtimes done) / (running + done), where a running task of
elapsed time τ counts with τe: the mean of the known runtimes greater than τ, or τ itself when
none is. Leaving running tasks out would bias T_i towards short ones.

Up to `EXACT` runtimes are kept as they are. From then on they are held in bins of ±1 %, each with
its count and its sum: sums and means over all stay exact, and the mean beyond τ is off only by
the one bin that τ falls into. `add` takes constant time and memory stays bounded.
"""

import math
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from bats.common.billing import ROUNDING
from bats.master.brain.arrays import np

EXACT: Final = 4096
WIDTH: Final = math.log(1.02)  # each bin is 2 % wider than the one below
LOWEST_SECONDS: Final = 1e-4
BINS: Final = 1500  # the last one ends beyond 10^8 s: three years


class RuntimeProfile:
    """Runtimes of one cluster, or of all tasks converted to one canonical cluster (T §5.1)."""

    __slots__ = (
        "_binned",
        "_counts",
        "_exact",
        "_squares",
        "_sum",
        "_sums",
        "_tails",
        "count",
        "longest",
    )

    def __init__(self, runtimes: Iterable[float] = ()) -> None:
        self.count = 0
        self.longest = 0.0
        self._sum = 0.0
        self._squares = 0.0
        self._exact: list[float] = []  # sorted
        self._binned = False
        self._counts: list[int] = []
        self._sums: list[float] = []
        self._tails: tuple[list[int], list[float]] | None = None  # per start: how many, their sum
        for runtime_seconds in runtimes:
            self.add(runtime_seconds)

    def add(self, runtime_seconds: float) -> None:
        """Take in the runtime of a task that finished."""
        self.count += 1
        self._sum += runtime_seconds
        self._squares += runtime_seconds * runtime_seconds
        self._tails = None
        self.longest = max(self.longest, runtime_seconds)
        if self._binned:
            k = _bin(runtime_seconds)
            self._counts[k] += 1
            self._sums[k] += runtime_seconds
        else:
            insort(self._exact, runtime_seconds)
            if len(self._exact) > EXACT:
                self._pour_into_bins()

    @property
    def mean_done(self) -> float:
        """Mean runtime of the finished tasks; there must be one."""
        return self._sum / self.count

    @property
    def spread(self) -> float:
        """The standard deviation as a share of the mean."""
        mean = self.mean_done
        variance = max(0.0, self._squares / self.count - mean * mean)
        return math.sqrt(variance) / mean if mean > 0 else 0.0

    def tail_mean(self, tau: float) -> float:
        """τe: what a task that has run for τ is expected to take in all."""
        counts, sums = self._tails or self._sum_tails()
        if self._binned:
            k = _bin(tau)
            if self._sums[k] <= tau * self._counts[k]:  # most of τ's own bin lies below τ
                k += 1
        else:
            k = bisect_right(self._exact, tau)
        return max(tau, sums[k] / counts[k]) if counts[k] else tau

    def share_within(self, seconds: float) -> float:
        """The share of the finished tasks that took no longer; there must be one."""
        counts, _ = self._tails or self._sum_tails()
        if self._binned:
            return 1 - counts[_bin(seconds) + 1] / self.count
        return bisect_right(self._exact, seconds * (1 + ROUNDING)) / self.count

    def mean_with_running(self, elapsed_seconds: Iterable[float]) -> float:
        """T_i, given how long each running task has been running; something must be known."""
        total, number = self._sum, self.count
        for tau in elapsed_seconds:
            total += self.tail_mean(tau)
            number += 1
        return total / number

    def sample(self) -> Sequence[float]:
        """Finished runtimes, rising; of a large number, the means of `EXACT` equal shares."""
        if not self._binned:
            return tuple(self._exact)
        share = np.linspace(0, self.count, EXACT + 1)
        upto = np.interp(
            share,
            list(accumulate(self._counts, initial=0)),
            list(accumulate(self._sums, initial=0.0)),
        )
        means: list[float] = (np.diff(upto) / (self.count / EXACT)).tolist()
        return means

    def _pour_into_bins(self) -> None:
        self._counts = [0] * BINS
        self._sums = [0.0] * BINS
        for runtime_seconds in self._exact:
            k = _bin(runtime_seconds)
            self._counts[k] += 1
            self._sums[k] += runtime_seconds
        self._exact.clear()
        self._binned = True

    def _sum_tails(self) -> tuple[list[int], list[float]]:
        if self._binned:
            counts, sums = self._counts, self._sums
        else:
            counts, sums = [1] * len(self._exact), self._exact
        many = list(accumulate(reversed(counts), initial=0))
        much = list(accumulate(reversed(sums), initial=0.0))
        many.reverse()
        much.reverse()
        self._tails = (many, much)
        return self._tails


def _bin(seconds: float) -> int:
    if seconds <= LOWEST_SECONDS:
        return 0
    return min(BINS - 1, int(math.log(seconds / LOWEST_SECONDS) / WIDTH))
