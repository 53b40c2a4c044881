"""The table of how much machines of an offering differ, with a small histogram of each."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from bats.master.api import replies
from bats.master.cli.display.formatting import BARS, duration, table

CELLS: Final = 16  # from twice as fast as the mean to twice as slow


def speeds_in_words(known: Sequence[replies.MachineSpeeds], now: float) -> str:
    if not known:
        return (
            "Nothing is known yet of how machines differ: no bag has ended of which three machines "
            "of an offering did four tasks each."
        )
    rows = [
        (
            one["offering"],
            one.get("of", "tasks"),  # a master of an earlier release tells nothing else
            f"{one['machines']:,}",
            f"{_quantile(one['slowness'], 0.1):.2f} to {_quantile(one['slowness'], 0.9):.2f}",
            histogram(one["slowness"]),
            f"{duration(max(0.0, now - one['at']))} ago",
        )
        for one in known
    ]
    head = ("machines of", "time of", "judged", "8 of 10 take", "half as long … twice", "last")
    told = table(head, rows)
    return (
        f"{told}\n\nThe time on a machine, to the mean of all machines of its offering: of a task "
        "as a whole, of what its processor does, of a byte that its link brings or takes."
    )


def histogram(slowness: Sequence[float]) -> str:
    """A cell for each part of the way from twice as fast to twice as slow, both in octaves."""
    edges = [2 ** (2 * k / CELLS - 1) for k in range(1, CELLS)]
    counts = [0] * CELLS
    for one in slowness:
        counts[bisect_right(edges, one)] += 1
    most = max(counts)
    return "".join(BARS[math.ceil(count / most * (len(BARS) - 1))] for count in counts)


def _quantile(rising: Sequence[float], share: float) -> float:
    return rising[min(len(rising) - 1, int(share * len(rising)))]
