"""Adapt (§4.4.1; Ali-Eldin et al. 2012): the slope of the load, with repairs.

Every ΔT calls the speed R of supply is estimated: with C̄ the mean supply of that time and n̄ that of
all time, R = C̄ (L - cap) / n̄, and ΔT = .05 cap / C̄. R, divided by q where it falls, adds up from
call to call; whole machines are taken off the sum. Less than L is never left; a supply below L
becomes ⌈up · L⌉ and what the sum holds.

The thesis names no knobs. q = 1 and up = 1 come nearest to its Table 4.3, and are the default; the
published program has q = 4, up = 1.1.
"""

import math
from typing import Final

from bats.master.brain.scaling.scaler import OfLoad

ESTIMATE_EVERY: Final = 0.05
"""ΔT, where supply is what it is on average."""

FIRST_ESTIMATE: Final = 5.0


class Adapt(OfLoad):
    def __init__(self, rate: float = 1.0, q: float = 1.0, up: float = 1.0) -> None:
        super().__init__(rate)
        self.q = q
        self.up = up
        self._calls = 0
        self._supplied = 0.0  # Σ cap
        self._recent: list[int] = []
        self._mean = 1.0  # C̄
        self._every = FIRST_ESTIMATE  # ΔT
        self._estimated = 0  # at which call
        self._speed = 0.0  # R
        self._sum = 0.0

    def target(self, load: int, cap: int) -> int:
        self._calls += 1
        self._supplied += cap
        self._recent.append(cap)
        if len(self._recent) >= math.ceil(self._every):
            self._mean = sum(self._recent) / len(self._recent)
            self._recent.clear()
        if self._calls - self._estimated >= self._every:
            self._estimate(load, cap)
        self._sum += self._speed
        whole = int(self._sum)
        self._sum -= whole
        if whole < 0:
            return max(cap + whole, load)
        return math.ceil(self.up * load) + whole if load > cap else cap

    def _estimate(self, load: int, cap: int) -> None:
        self._estimated = self._calls
        usual = self._supplied / self._calls
        if not usual or not self._mean:
            return
        speed = self._mean * (load - cap) / usual
        self._speed = speed / self.q if speed < 0 else speed
        self._every = ESTIMATE_EVERY * cap / self._mean
