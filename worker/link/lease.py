"""The lease: this machine is paid for until it ends; unrenewed, everything here ends with it.

The clock also counts while the machine is suspended, for a suspended machine is paid for too.
"""

import time
from typing import Final

_MARGIN_SHARE: Final = 0.02  # of a short lease: it must be renewed before stopping begins


def boot_clock() -> float:
    """Seconds since the machine booted, its sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """`ends` is when nothing of ours may live any more, `stops` when to begin stopping.

    `most_margin` lies between the two, so that tasks are stopped in order and none outlives the
    lease. The master knows how late its renewals may come, so it says how much that may be.
    """

    def __init__(self, seconds: float, now: float, most_margin: float) -> None:
        self._most_margin = most_margin
        self._since = now
        self.renew(seconds, now)

    def renew(self, seconds: float, since: float) -> None:
        """The master's word replaces an earlier one, be it longer or shorter.

        It counts from a stamp of ours, so one that comes late makes no life longer.
        """
        if since < self._since:  # it was overtaken by a later one
            return
        self._since = since
        self.margin = min(self._most_margin, seconds * _MARGIN_SHARE)
        self.ends = since + seconds
        self.stops = self.ends - self.margin

    def left(self, now: float) -> float:
        return max(0.0, self.ends - now)
