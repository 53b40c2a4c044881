"""Reg (§4.4.1; Iqbal et al. 2011): up by the present load, down by a parabola through past ones.

With cap > L the target is the fit of the last `window` loads at this call, rounded up, but no more
than cap; cap where the fit is nothing. Else ⌈1.05 L⌉. The thesis states a window of 60 points; its
Table 4.3 comes out nearer with 10.
"""

import math
from collections import deque
from typing import Final

from bats.master.brain.arrays import np
from bats.master.brain.scaling.scaler import OfLoad

WINDOW: Final = 60
UP: Final = 1.05


class Reg(OfLoad):
    def __init__(self, rate: float = 1.0, window: int = WINDOW) -> None:
        super().__init__(rate)
        self._loads: deque[int] = deque(maxlen=window)

    def target(self, load: int, cap: int) -> int:
        self._loads.append(load)
        if cap <= load:
            return math.ceil(UP * load)
        fitted = math.ceil(round(self._at_now(), 9))
        return min(cap, fitted) if fitted > 0 else cap

    def _at_now(self) -> float:
        calls = np.arange(1 - len(self._loads), 1)
        degree = min(2, len(self._loads) - 1)
        return float(np.polyfit(calls, list(self._loads), degree)[-1])
