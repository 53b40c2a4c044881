"""The frontier: for every price per ATU the most speed it buys, from one dynamic programme.

T §2.2.2 fills a table P(items, price). Ours has one row, updated cluster by cluster in the order
of speed per money, so that each cluster needs to look only at the prices where it may matter:
where buying it could, by the bound of the relaxation with split machines, still beat the row.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.planning.bounded_knapsack import most_speed
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS: Final = 1 << 21
"""A longer table is not built: prices are then rounded up to a coarser unit of money."""

BLOCK: Final = 256  # cells whose distance to the relaxation is kept together
CHUNK: Final = 128  # blocks worked on at a time: they fit into a processor's cache


@dataclass(frozen=True, slots=True)
class Frontier:
    """Mixes no other mix beats in both price and speed. Free machines are in all of them."""

    clusters: tuple[Cluster, ...]
    limits: Mix
    unit: Money  # the prices' greatest common divisor, or coarser
    free_speed: float
    row: NDArray[np.float64]  # row[k]: the most speed paid machines give for k units per ATU
    exact: bool  # False when prices had to be rounded up

    def speed_within(self, price: Money) -> float:
        """S of the fastest mix that costs at most so much per ATU."""
        return self.free_speed + float(self.row[min(price // self.unit, len(self.row) - 1)])

    def mix_within(self, price: Money) -> Mix:
        """The fastest mix for at most so much per ATU; of equals the cheapest, then smallest."""
        cell = min(price // self.unit, len(self.row) - 1)
        least = (self.free_speed + self.row[cell]) * (1 - TIE) - self.free_speed
        cell = int(np.searchsorted(self.row[: cell + 1], least))
        paid = [i for i, cluster in enumerate(self.clusters) if not cluster.offering.free]
        bought = most_speed(
            [self.clusters[i].speed for i in paid],
            [-(-self.clusters[i].offering.price // self.unit) for i in paid],
            [self.limits[i] for i in paid],
            cell,
            optimum=float(self.row[cell]),
        ).counts
        mix = list(self.limits)
        for i, count in zip(paid, bought, strict=True):
            mix[i] = count
        return tuple(mix)

    def steps(self) -> Iterator[tuple[Money, float]]:
        """(price per ATU, S) wherever more money first buys more speed."""
        known = -math.inf
        rises = np.flatnonzero(np.diff(self.row, prepend=-math.inf) > 0)
        for cell in rises.tolist():
            speed = self.free_speed + float(self.row[cell])
            if speed > max(0.0, known * (1 + TIE)):
                known = speed
                yield Money(cell * self.unit), speed


def frontier(clusters: tuple[Cluster, ...], limits: Mix, ceiling: Money | None = None) -> Frontier:
    """All mixes worth their price per ATU, up to `ceiling` if one is given."""
    paid = _paid(clusters, limits)
    free_speed = math.fsum(
        limit * cluster.speed
        for limit, cluster in zip(limits, clusters, strict=True)
        if cluster.offering.free
    )
    unit, highest = _range(clusters, limits, ceiling)
    coarse = unit * max(1, -(-highest // (unit * MOST_CELLS)))
    rounded = tuple(-(-clusters[i].offering.price // coarse) for i in paid)
    counts = tuple(limits[i] for i in paid)
    # Somewhat longer, so that who asks for a little more finds the row in the cache.
    some = 1 << max(0, (highest // coarse).bit_length() - 3)
    cells = min(sum(map(int.__mul__, counts, rounded)), (highest // coarse // some + 1) * some)
    row = _row(tuple(clusters[i].speed for i in paid), rounded, counts, cells)
    return Frontier(clusters, limits, Money(coarse), free_speed, row, exact=coarse == unit)


def exact_cells(clusters: tuple[Cluster, ...], limits: Mix, ceiling: Money) -> int:
    """The length at which the table is exact up to `ceiling`."""
    unit, highest = _range(clusters, limits, ceiling)
    return highest // unit


def forget() -> None:
    """Drop the remembered tables, for those who measure."""
    _row.cache_clear()


def _paid(clusters: tuple[Cluster, ...], limits: Mix) -> list[int]:
    return [i for i, cluster in enumerate(clusters) if not cluster.offering.free and limits[i] > 0]


def _range(clusters: tuple[Cluster, ...], limits: Mix, ceiling: Money | None) -> tuple[int, int]:
    """The prices' greatest common divisor, and the highest price per ATU to consider."""
    paid = _paid(clusters, limits)
    unit = math.gcd(*(clusters[i].offering.price for i in paid)) or 1
    everything = sum(limits[i] * clusters[i].offering.price for i in paid)
    return unit, everything if ceiling is None else max(0, min(ceiling, everything))


@functools.lru_cache(maxsize=2)  # schedules and deadlines ask for many budgets in a row
def _row(
    speeds: tuple[float, ...], prices: tuple[int, ...], limits: tuple[int, ...], cells: int
) -> NDArray[np.float64]:
    """row[k] = max Σ a_i·speed_i over Σ a_i·price_i ≤ k."""
    table = _Table(cells)
    for i in sorted(range(len(speeds)), key=lambda i: (-speeds[i] / prices[i], prices[i])):
        if prices[i] <= cells:
            table.add(speeds[i], prices[i], min(limits[i], cells // prices[i]))
    row = np.maximum.accumulate(table.row[: cells + 1])
    row.flags.writeable = False
    return row


class _Table:
    """The row while clusters are added to it, the best value first.

    The relaxation is a chain of straight lines, one per cluster, each less steep than the one
    before. For every block of cells we keep a line no mix can be above, and at most how far the
    row is below it. A machine of a less steep cluster loses (line's slope - its own)·price
    against the line; where that is more than the distance, buying it cannot help.
    """

    def __init__(self, cells: int) -> None:
        blocks = cells // BLOCK + 1
        self.row = np.zeros(blocks * BLOCK)
        self.start = np.zeros(blocks)  # the line's height at the first cell of the block
        self.slope = np.zeros(blocks)
        self.distance = np.zeros(blocks)
        self.filled = 0  # the price of all machines added so far
        self.full = 0.0  # their speed
        self.corners = [(0, 0.0)]  # (filled, full) after each cluster

    def add(self, speed: float, price: int, limit: int) -> None:
        if self.filled >= len(self.row):
            self._improve_below(speed, price, limit)
            return
        end = min(len(self.row), self.filled + limit * price + 1)
        self.row[self.filled + 1 : end] = self.full
        first = max(0, self.filled - self._reach(speed, price, limit) * price)
        best = self._slide(first, self.filled + 1, end, speed, price, limit)
        self._improve_below(speed, price, limit)
        self.row[self.filled + 1 : end] = best
        begun = self.filled // BLOCK
        density = speed / price
        self.slope[begun:] = density
        self.start[begun:] = self.full + density * (
            np.arange(begun, len(self.slope)) * float(BLOCK) - self.filled
        )
        self.filled += limit * price
        self.full += limit * speed
        self.row[end:] = self.full
        self._measure(begun, (end - 1) // BLOCK + 1)
        self.corners.append((self.filled, self.full))

    def _reach(self, speed: float, price: int, limit: int) -> int:
        """The most machines of this cluster that may be worth buying in place of better ones."""
        at = np.arange(limit + 1)
        money, height = zip(*self.corners, strict=True)
        hope = np.interp(self.filled - (at - 1.0) * price, money, height) + at * speed
        hopeless = (at >= 1) & (hope <= self.full * (1 + 1e-14))
        return int(np.argmax(hopeless)) if hopeless.any() else limit

    def _improve_below(self, speed: float, price: int, limit: int) -> None:
        """Improve the row where it is not full of better clusters yet, from the top down."""
        known = min(len(self.slope), self.filled // BLOCK + 1)
        loss = np.maximum(self.slope[:known] - speed / price, 0.0) * price
        noise = (self.start[:known] + self.slope[:known] * BLOCK) * 1e-14
        doubtful = np.flatnonzero(self.distance[:known] > loss + noise)
        if not len(doubtful):
            return
        with np.errstate(divide="ignore"):
            worth = np.minimum(self.distance[doubtful] / loss[doubtful] + 1e-9, limit).astype(int)
        size = max(CHUNK, int(worth.max()) * price // BLOCK)
        breaks = np.flatnonzero((np.diff(doubtful) > 1) | (np.diff(doubtful // size) > 0)) + 1
        for run, counts in zip(
            reversed(np.split(doubtful, breaks)), reversed(np.split(worth, breaks)), strict=True
        ):
            begin, end = int(run[0]) * BLOCK, min((int(run[-1]) + 1) * BLOCK, self.filled + 1)
            most = int(counts.max())
            first = max(0, begin - most * price)
            self.row[begin:end] = self._slide(first, begin, end, speed, price, most)
            self._measure(int(run[0]), int(run[-1]) + 1)

    def _slide(
        self, first: int, begin: int, end: int, speed: float, price: int, most: int
    ) -> NDArray[np.float64]:
        """The best of buying 0 to `most`, for cells begin..end, from cells first..end."""
        cells = end - first
        bought = np.repeat(np.arange(-(-cells // price)) * speed, price)[:cells]
        best = self.row[first:end] - bought
        width, wanted = 1, min(most, (cells - 1) // price) + 1
        while width < wanted:  # windows of twice the width are two windows
            step = min(width, wanted - width)
            np.maximum(best[step * price :], best[: -step * price], out=best[step * price :])
            width += step
        best += bought
        return best[begin - first :]

    def _measure(self, first: int, last: int) -> None:
        """The distance of the row below its lines, in these blocks."""
        for begin in range(first, last, CHUNK):
            end = min(begin + CHUNK, last)
            lines = self.slope[begin:end, None] * np.arange(BLOCK)
            lines += self.start[begin:end, None]
            lines -= self.row[begin * BLOCK : end * BLOCK].reshape(-1, BLOCK)
            self.distance[begin:end] = lines.max(axis=1)
