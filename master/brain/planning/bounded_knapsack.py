"""The bounded knapsack for one budget: the most speed that so much money buys, exactly.

Machines are sorted by speed per money. Buying in that order gives the optimum of the relaxation
in which machines can be split, and an optimum of whole machines differs from it in few clusters,
those of about the same speed per money as where the money ran out. So we begin with that greedy
mix and let one cluster after the other, nearest first, be bought less or more. The undominated
states (money, speed) are kept; a state is dropped when even splitting machines could not lift it
above the best mix known. Prices may be as fine as they like: the work depends on the number of
states that stay, not on the size of the numbers (Pisinger 2000 calls this an expanding core).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.planning.problem import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_STATES: Final = 1 << 16
"""The most undominated states: of more, those that spend nearly alike are merged. The mix is within
budget then, but no longer surely the optimum. Only many coinciding values get there.
"""

TRIED_STATES: Final = 128
"""The number of most hopeful states from which whole mixes are made, to raise the best early."""

ENOUGH_STATES: Final = 1 << 14
"""The states at which the search for fewer machines ends, the speed being surely the best."""

NOISE: Final = 1e-15  # relative: what a sum of twenty floats may be off


@dataclass(frozen=True, slots=True)
class Purchase:
    """A number of each kind to buy; `exact` unless states had to be merged."""

    counts: tuple[int, ...]
    exact: bool


@dataclass(slots=True)
class _Stage:
    """One cluster decided: for every state kept, which state it grew from and what was bought."""

    cluster: int
    parents: NDArray[np.intp]
    counts: NDArray[np.int64]


def most_speed(
    speeds: Sequence[float],
    prices: Sequence[int],
    limits: Sequence[int],
    money: int,
    optimum: float = math.inf,
) -> Purchase:
    """Maximise Σ a_i·speed_i over Σ a_i·price_i ≤ money, 0 ≤ a_i ≤ limit_i; prices above 0.

    Among equal speeds the fewest machines win, as far as that can be seen with reasonable work.
    Who knows the `optimum` already, and asks for the mix only, is answered sooner.
    """
    most = [min(limit, money // price) for limit, price in zip(limits, prices, strict=True)]
    wanted = [i for i, limit in enumerate(most) if limit > 0 and speeds[i] > 0]
    counts = [0] * len(most)
    if sum(most[i] * prices[i] for i in wanted) <= money:
        for i in wanted:
            counts[i] = most[i]
        return Purchase(tuple(counts), exact=True)
    common = math.gcd(*(prices[i] for i in wanted))
    coarse = max(1, (money // common) >> 56)  # keeps sums of prices within 64 bits
    unit = common * coarse
    core = _Core(
        [speeds[i] for i in wanted],
        [-(-prices[i] // unit) for i in wanted],
        [most[i] for i in wanted],
        money // unit,
        optimum,
    )
    for i, count in zip(wanted, core.solve(), strict=True):
        counts[i] = count
    return Purchase(tuple(counts), core.exact and coarse == 1)


def speed_if_split(
    speeds: Sequence[float], prices: Sequence[int], limits: Sequence[int], money: int
) -> float:
    """The relaxation: no mix of whole machines is faster than the best one of split machines."""
    total, left = 0.0, money
    for i in sorted(range(len(speeds)), key=lambda i: -speeds[i] / prices[i]):
        if left <= limits[i] * prices[i]:
            return total + left / prices[i] * speeds[i]
        total += limits[i] * speeds[i]
        left -= limits[i] * prices[i]
    return total


class _Core:
    def __init__(
        self,
        speeds: list[float],
        prices: list[int],
        limits: list[int],
        money: int,
        optimum: float,
    ) -> None:
        relaxed = speed_if_split(speeds, prices, limits, money)
        machines = min(sum(limits), money // min(prices))
        # Each machine loses this much speed, so that of equal mixes the smaller is the faster.
        handicap = relaxed * TIE / 10 / max(1, machines)
        worth = [speed - handicap for speed in speeds]
        self.order = sorted(range(len(speeds)), key=lambda i: (-worth[i] / prices[i], i))
        self.worth = [worth[i] for i in self.order]
        self.prices = [prices[i] for i in self.order]
        self.limits = [limits[i] for i in self.order]
        self.density = [v / c for v, c in zip(self.worth, self.prices, strict=True)]
        self.money = money
        self.optimum = min(relaxed, optimum)
        self.noise = relaxed * NOISE
        self.exact = True

    def solve(self) -> list[int]:
        """The counts, in the order the clusters were given."""
        best, split = self._greedy()
        chosen = self._improve(best, split)
        counts = [0] * len(chosen)
        for position, i in enumerate(self.order):
            counts[i] = chosen[position]
        return counts

    def _greedy(self) -> tuple[list[int], int]:
        """Buy the best value first; says too which cluster is the first to be cut short."""
        left, counts, split = self.money, [], -1
        for position, (price, limit) in enumerate(zip(self.prices, self.limits, strict=True)):
            count = min(limit, left // price)
            if count < limit and split < 0:
                split = position
            counts.append(count)
            left -= count * price
        return counts, split

    def _improve(self, best: list[int], split: int) -> list[int]:
        """Let the clusters around `split` deviate until no state can beat the best known."""
        start = [limit if i < split else 0 for i, limit in enumerate(self.limits)]
        spent = np.array([sum(map(int.__mul__, start, self.prices))], dtype=np.int64)
        value = np.array([math.fsum(map(float.__mul__, map(float, start), self.worth))])
        known = math.fsum(map(float.__mul__, map(float, best), self.worth))
        stages: list[_Stage] = []
        below, above = split - 1, split  # next to be bought less, next to be bought more
        while len(spent) and (below >= 0 or above < len(self.limits)):
            cluster, step = self._nearest(below, above, split)
            below, above = (below - 1, above) if step < 0 else (below, above + 1)
            parts = _parts(self.limits[cluster], len(spent))
            for part, counts in enumerate(parts):
                spent = (spent[:, None] + counts * (step * self.prices[cluster])).ravel()
                value = (value[:, None] + counts * (step * self.worth[cluster])).ravel()
                undecided = part < len(parts) - 1
                hope = self._hope(
                    spent,
                    value,
                    cluster if undecided and step < 0 else below,
                    cluster if undecided and step > 0 else above,
                )
                kept = np.flatnonzero(hope > known + self.noise)
                kept = kept[np.argsort(spent[kept], kind="stable")]
                kept = kept[_undominated(value[kept])]
                if len(kept) > MOST_STATES:
                    self.exact = False
                    kept = _thinned(kept, spent)
                spent, value, hope = spent[kept], value[kept], hope[kept]
                bought = step * counts[kept % len(counts)]
                stages.append(_Stage(cluster, kept // len(counts), bought))
            if not len(spent):
                break
            state, worth, rest = self._complete(spent, value, hope, below, above)
            if worth > known + self.noise:
                known, best = worth, _trace(start, stages, state)
                for i, count in rest.items():
                    best[i] += count
            if len(spent) > ENOUGH_STATES and known >= self.optimum * (1 - TIE):
                break
        self.exact = self.exact or known >= self.optimum * (1 - TIE)
        return best

    def _complete(
        self,
        spent: NDArray[np.int64],
        value: NDArray[np.float64],
        hope: NDArray[np.float64],
        below: int,
        above: int,
    ) -> tuple[int, float, dict[int, int]]:
        """The best mix made of the most hopeful states by handing back or filling up greedily.

        Its state, its worth, and what it adds to the state.
        """
        some = np.arange(len(spent))
        if len(some) > TRIED_STATES:
            some = np.argpartition(-hope, TRIED_STATES)[:TRIED_STATES]
        left, worth = self.money - spent[some], value[some].copy()
        changes: list[tuple[int, NDArray[np.int64]]] = []
        for i in range(below, -1, -1):
            if left.min() >= 0:
                break
            back = np.clip(-(left // self.prices[i]), 0, self.limits[i])
            left += back * self.prices[i]
            worth -= back * self.worth[i]
            changes.append((i, -back))
        for i in range(above, len(self.limits)):
            more = np.clip(left // self.prices[i], 0, self.limits[i])
            left -= more * self.prices[i]
            worth += more * self.worth[i]
            changes.append((i, more))
        worth[left < 0] = -math.inf
        winner = int(np.argmax(worth))
        rest = {i: int(change[winner]) for i, change in changes}
        return int(some[winner]), float(worth[winner]), rest

    def _nearest(self, below: int, above: int, split: int) -> tuple[int, int]:
        """The undecided cluster whose speed per money is nearest; +1: more of it, -1: less."""
        if below < 0:
            return above, +1
        if above >= len(self.limits):
            return below, -1
        middle = self.density[split]
        more = middle - self.density[above] <= self.density[below] - middle
        return (above, +1) if more else (below, -1)

    def _hope(
        self, spent: NDArray[np.int64], value: NDArray[np.float64], below: int, above: int
    ) -> NDArray[np.float64]:
        """The speed that a state could reach if machines still undecided could be split at will."""
        gain = max(0.0, self.density[above]) if above < len(self.density) else 0.0
        loss = self.density[below] if below >= 0 else math.inf
        left = (self.money - spent).astype(np.float64)
        with np.errstate(invalid="ignore"):  # inf * 0 is never chosen
            return value + np.where(left >= 0, left * gain, left * loss)


def _parts(limit: int, states: int) -> list[NDArray[np.int64]]:
    """Parts of a cluster to decide at once: few states try every count, many go by halves."""
    if states * (limit + 1) <= 1 << 12:
        return [np.arange(limit + 1, dtype=np.int64)]
    parts, size = [], 1
    while limit > 0:
        count = min(size, limit)
        parts.append(np.array([0, count], dtype=np.int64))
        limit, size = limit - count, 2 * size
    return parts[::-1]


def _undominated(value: NDArray[np.float64]) -> NDArray[np.bool_]:
    """States, sorted by money, that are faster than every cheaper one."""
    best_before = np.maximum.accumulate(value)
    better = np.ones(len(value), dtype=np.bool_)
    better[1:] = value[1:] > best_before[:-1]
    return better


def _thinned(kept: NDArray[np.intp], spent: NDArray[np.int64]) -> NDArray[np.intp]:
    """States without those that spend nearly as much as a faster one; few enough then differ."""
    money = spent[kept]
    unit = max(1, int(money[-1] - money[0]) // (MOST_STATES // 2))
    bucket = money // unit
    last = np.ones(len(kept), dtype=np.bool_)
    last[:-1] = bucket[1:] != bucket[:-1]
    return kept[last]


def _trace(start: list[int], stages: list[_Stage], state: int) -> list[int]:
    """The machines that were bought on the way to a state of the last stage."""
    counts = start.copy()
    for stage in reversed(stages):
        counts[stage.cluster] += int(stage.counts[state])
        state = int(stage.parents[state])
    return counts
