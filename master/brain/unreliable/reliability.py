"""The reliability of the unreliable pool, known to its tail from what was sent before (§4.3).

Three epochs by when an instance was sent, t': fully known before T_tail - D, partially until T_tail
(2), and not at all from then on.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from statistics import fmean
from typing import Final, NamedTuple

from bats.common.records import dataclass

SETS_ENOUGH: Final = 3  # for the least of them to be a bound
SETS: Final = 20
"""Instances that are sent one after the other, of which the share that returned is taken."""


class Sent(NamedTuple):
    at: float  # t'
    turnaround: float | None  # t; None: not returned yet


@dataclass(frozen=True, slots=True)
class Reliability:
    """γ(t'), as of T_tail."""

    known: float  # mean of the first epoch; of the second where there was no first
    lately: float  # mean of the second
    least: float  # of the sets of the first

    @property
    def ahead(self) -> float:
        """γ of what will be sent: the mean of both means."""
        return (self.known + self.lately) / 2


def reliability(sent: Sequence[Sent], T_tail: float, D: float) -> Reliability:
    """1 throughout where nothing is known."""
    ordered = sorted(sent, key=lambda one: one.at)
    full = [one for one in ordered if one.at < T_tail - D]
    part = [one for one in ordered if T_tail - D <= one.at < T_tail]
    shares = [_share(some, D) for some in _sets(full)]
    least = _least(shares, len(full))
    turnaround = sorted(t for _, t in ordered if t is not None and t < D)
    lately = [_partial(some, turnaround, T_tail, least) for some in _sets(part)]
    known = [one for one in (_mean(shares), _mean(lately)) if one is not None] or [1.0]
    return Reliability(known[0], known[-1], least)


def _least(shares: Sequence[float], count: int) -> float:
    """The least γ of the sets; of few sets, the least that so many instances may stem from.

    Else a single set would forbid the second epoch to be worse, and each pool would seem better.
    """
    if len(shares) >= SETS_ENOUGH or not shares:
        return min(shares, default=0.0)
    mean = fmean(shares)
    return max(0.0, mean - 2 * math.sqrt(mean * (1 - mean) / count))


def _sets(sent: Sequence[Sent]) -> list[Sequence[Sent]]:
    """Sets of about that many; the last instances belong to the set before them."""
    count = max(1, len(sent) // SETS)
    size = len(sent) / count
    sets = [sent[round(k * size) : round((k + 1) * size)] for k in range(count)]
    return [some for some in sets if some]


def _share(sent: Sequence[Sent], D: float) -> float:
    return sum(t is not None and t < D for _, t in sent) / len(sent)


def _partial(
    sent: Sequence[Sent], turnaround: Sequence[float], T_tail: float, least: float
) -> float | None:
    """γ(t') = F̂(T_tail - t', t') / F_s(T_tail - t') (2), of instances sent one after the other."""
    if not turnaround:
        return None
    returned = sum(t is not None and at + t <= T_tail for at, t in sent)
    expected = sum(bisect_right(turnaround, T_tail - at) for at, _ in sent) / len(turnaround)
    if not expected:
        return None
    return min(1.0, max(least, returned / expected))


def _mean(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None
