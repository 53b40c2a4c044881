"""Stability: two tests for a queue that grows for ever, and the highest load borne (§3.4.3)."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

Changes = Sequence[tuple[float, int]]
"""N(t), the number present, at each of its changes."""

BATCHES: Final = 10
LIMIT: Final = 1.86 * np.sqrt(2)
"""2.63: Student's t at .95 for 8 degrees of freedom, of the difference of two means."""


def wieland(changes: Changes, begin: float, end: float) -> bool:
    """True unless N rises from the second to the last batch by more than chance explains.

    (3.8) L_j is the time average of N in batch j; unstable if L_10 - L_2 > 2.63 σ.
    """
    edges = np.linspace(begin, end, BATCHES + 1)
    means = np.diff(np.interp(edges, *_area(changes))) / np.diff(edges)
    later = means[1:]
    return bool(later[-1] - later[0] <= LIMIT * later.std(ddof=1))


def lyapunov(changes: Changes, begin: float, end: float) -> bool:
    """True unless l(t) = N(t)² / 2 rises by more than 1 per step on average; N steps by one."""
    seen = [count for at, count in changes if begin <= at <= end]
    if len(seen) < 2:
        return True
    return (seen[-1] ** 2 - seen[0] ** 2) / 2 / (len(seen) - 1) <= 1


def stable(changes: Changes, begin: float, end: float) -> bool:
    """True if both tests find no growth."""
    return wieland(changes, begin, end) and lyapunov(changes, begin, end)


def _area(changes: Changes) -> tuple[np.ndarray, np.ndarray]:
    """The integral of N up to each change."""
    at = np.array([0.0, *(time for time, _ in changes)])
    counts = np.array([0, *(count for _, count in changes)])
    return at, np.concatenate([[0.0], np.cumsum(np.diff(at) * counts[:-1])])


def highest(stable: Callable[[float], bool], loads: Sequence[float]) -> float:
    """The highest of rising loads that is stable, found by halving; 0 if none is."""
    low, high = -1, len(loads)
    while high - low > 1:
        middle = (low + high) // 2
        if stable(loads[middle]):
            low = middle
        else:
            high = middle
    return loads[low] if low >= 0 else 0.0
