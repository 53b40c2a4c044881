"""ConPaaS (§4.4.1; Fernandez et al. 2014): loads foretold by autoregression.

Of the last 20 loads an AR(9) with a constant is fitted by least squares and carried on for 20
calls. The target is the mean of what is foretold, call k (0 … 19) with weight k, over μ. Before 21
loads are known it is L; a machine is enough for no more load than it can do; a forecast of nothing
changes nothing.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Final

from bats.master.brain.arrays import np
from bats.master.brain.scaling.scaler import ElasticView, in_order

ORDER: Final = 9
HISTORY: Final = 20
AHEAD: Final = 20


class ConPaaS:
    sees_tasks = False

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate
        self._loads: deque[float] = deque(maxlen=HISTORY + 1)

    def want(self, pool: ElasticView) -> Sequence[int]:
        self._loads.append(pool.demand)
        most = sum(kind.most for kind in pool.kinds)
        return in_order(self._target(pool.demand, sum(pool.supply), most), pool.kinds)

    def _target(self, load: float, cap: int, most: int) -> int:
        if len(self._loads) <= HISTORY:
            return math.ceil(load / self.rate)
        if load <= self.rate:
            return 1
        foretold = weighted(forecast(list(self._loads)[1:])) / self.rate
        if not foretold > 0:
            return cap
        return most if foretold > most else math.ceil(foretold)


def forecast(loads: Sequence[float]) -> list[float]:
    """The next values of an AR process fitted to these."""
    rows = [[1.0, *loads[k : k + ORDER]] for k in range(len(loads) - ORDER)]
    weights = np.linalg.lstsq(np.array(rows), np.array(loads[ORDER:], float), rcond=None)[0]
    series = list(loads)
    for _ in range(AHEAD):
        series.append(float(np.dot(weights, [1.0, *series[-ORDER:]])))
    return series[len(loads) :]


def weighted(values: Sequence[float]) -> float:
    return sum(k * value for k, value in enumerate(values)) / sum(range(len(values)))
