"""Hist (§4.4.1; Urgaonkar et al. 2008): a high percentile of the loads of this hour of the day.

The target is p90 of those loads, raised by the mean e of the last five errors cap - L where that is
negative. After more than five shortages in ten calls it is ⌈1.05 L⌉, and the errors are forgotten.
`both_ways` lowers it by a positive e as well, as the published program does, by a fifth of it where
nothing would be left; upwards alone is nearer to the thesis's Table 4.3.
"""

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from bats.master.brain.scaling.scaler import ElasticView, OfLoad

PERCENTILE: Final = 0.9
ERRORS: Final = 5
SHORTAGES, OF_CALLS = 5, 10
REPAIR: Final = 1.05
REMEMBERED: Final = 730
HOUR: Final = 3600.0
HOURS: Final = 24


class Hist(OfLoad):
    def __init__(self, rate: float = 1.0, *, both_ways: bool = False) -> None:
        super().__init__(rate)
        self.both_ways = both_ways
        self._hour = 0
        self._errors: deque[int] = deque(maxlen=OF_CALLS)
        self._loads: defaultdict[int, deque[int]] = defaultdict(lambda: deque(maxlen=REMEMBERED))

    def want(self, pool: ElasticView) -> Sequence[int]:
        self._hour = int(pool.now // HOUR) % HOURS
        return super().want(pool)

    def target(self, load: int, cap: int) -> int:
        self._errors.append(cap - load)
        known = self._loads[self._hour]
        high = sorted(known)[int(len(known) * PERCENTILE)] if known else cap
        known.append(load)
        if sum(error < 0 for error in self._errors) > SHORTAGES:
            self._errors.clear()
            return math.ceil(REPAIR * load)
        return math.ceil(self._corrected(high))

    def _corrected(self, high: float) -> float:
        if len(self._errors) < ERRORS:
            return high
        e = fmean(list(self._errors)[-ERRORS:])
        if e > 0 and not self.both_ways:
            return high
        return high - e if high - e > 0 else high - e / 5
