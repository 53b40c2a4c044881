"""A bag's own time: seconds since it began, which never go back and do not follow clock jumps."""

import time
from pathlib import Path

from bats.master.bag import Anchor


class BagClock:
    """Counts with the boot's clock, on from master to master, as machines are paid for.

    Only after a reboot the calendar has to be asked how long the master was away.
    """

    def __init__(self, began: float, reached: float = 0.0, anchor: Anchor | None = None) -> None:
        """`began` by the calendar; `reached` is the time of the last event known."""
        boot, now = _boot(), boot_clock()
        if anchor is None or anchor.boot != boot:
            anchor = Anchor(boot, now - (time.time() - began if reached else 0.0))
        self.anchor = Anchor(boot, min(anchor.began, now - reached))

    def __call__(self) -> float:
        return boot_clock() - self.anchor.began


class Calendar:
    """Seconds of the epoch as they were when it was made, counted on by the boot's clock."""

    def __init__(self) -> None:
        self._epoch = time.time() - boot_clock()

    def __call__(self) -> float:
        return self._epoch + boot_clock()


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def boot_clock() -> float:
    """Seconds since this computer booted, its sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
