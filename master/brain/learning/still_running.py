"""Tasks that still run tell of runtimes too: each takes longer than it has run so far.

Those that are done first are the short ones: when 14 machines have done 30 tasks of a Lévy bag,
these 30 take a fifth less than the bag's tasks do. The product-limit estimate (Kaplan and Meier
1958) puts that right: the share of a running task goes to the longer runtimes that are known
(Efron 1967). Beyond all that is known it assumes an exponential tail, with the mean excess over
the median of what is done.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from bats.common.billing import ROUNDING
from bats.master.brain.arrays import np

if TYPE_CHECKING:
    from numpy.random import Generator


def completed(done: Sequence[float], elapsed: Sequence[float]) -> list[float]:
    """Runtimes, rising, as many as there are tasks, done or running; something must be done.

    They are the means of equal shares of the estimated distribution.
    """
    if not elapsed:
        return sorted(done)
    known = sorted([*((t, False) for t in done), *((tau, True) for tau in elapsed)])
    n = len(known)
    values, shares, left = [], [], 1.0
    for k, (t, running) in enumerate(known):
        if not running:
            values.append(t)
            shares.append(left / (n - k))
            left -= shares[-1]
    beyond = sorted(tau for tau in elapsed if tau > values[-1])
    if not beyond:  # what has run for as long as the longest ends with it
        shares[-1] += left
    else:
        theta = _mean_excess(sorted(done), elapsed)
        values += [
            tau + theta * excess
            for tau, excess in zip(beyond, _exponential(len(beyond)), strict=True)
        ]
        shares += [left / len(beyond)] * len(beyond)
    upto = np.concatenate([[0.0], np.cumsum(shares)])
    sums = np.concatenate([[0.0], np.cumsum(np.multiply(values, shares))])
    at = np.interp(np.linspace(0.0, upto[-1], n + 1), upto, sums)
    return [float(mean) for mean in np.diff(at) * n / upto[-1]]


def ends_drawn(done: Sequence[float], elapsed: Sequence[float], rng: Generator) -> list[float]:
    """One way in which those that run may end, in their order; something must be done (Rubin 1987).

    The means of `completed` say nothing of how little is known: a sample that is drawn so several
    times does. A running task ends like one of those known to take longer or, as likely as like
    each of these, later than all that ended (Hill 1968), unless these are all alike. How much later
    is exponential again. Of its mean the time that tasks have run beyond all that ended tells,
    without an end as yet; and, as much as one end would, the mean excess.
    """
    known = sorted(done)
    longest = known[-1] * (1 + ROUNDING)
    differ = longest > known[0] * (1 + 2 * ROUNDING)
    beyond = math.fsum(tau - longest for tau in elapsed if tau > longest)
    theta = (_mean_excess(known, elapsed) + beyond) / float(rng.gamma(2.0))
    ends = [0.0] * len(elapsed)
    for task in sorted(range(len(elapsed)), key=elapsed.__getitem__, reverse=True):
        tau = elapsed[task]
        at = min(bisect_right(known, tau), len(known) - 1)
        k = at + int(rng.integers(len(known) - at + differ))
        if tau > longest or k == len(known):
            ends[task] = max(tau, longest) + theta * float(rng.exponential())
        else:
            ends[task] = known[k]
        insort(known, ends[task])
    return ends


def _mean_excess(done: Sequence[float], elapsed: Sequence[float]) -> float:
    """The mean of an exponential tail: all time spent beyond its beginning, over those that end."""
    u = done[(len(done) - 1) // 2]
    ended = sum(t > u for t in done)
    if not ended:
        u, ended = 0.0, len(done)
    return math.fsum(max(0.0, t - u) for t in (*done, *elapsed)) / ended


def _exponential(count: int) -> list[float]:
    """The means of so many equal shares of the exponential distribution of mean 1, rising."""

    def upto(s: float) -> float:  # ∫ -ln over the survival from 0 to s
        return s - s * math.log(s) if s > 0 else 0.0

    edges = [1 - k / count for k in range(count + 1)]
    return [(upto(high) - upto(low)) * count for high, low in pairwise(edges)]
