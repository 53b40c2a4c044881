"""The matrix of REALITY: any billing, any length of task, any bag. A cell's name says all of it.

What is drawn for a cell (its bag, its kinds of machines, the chances of its world) depends on its
name without the budget and on the seed, on nothing else: two engines, or two budgets, meet the
same cell.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import erfc, exp, pi, sqrt

import numpy as np
from numpy.random import Generator
from scipy.optimize import brentq

from bats.common.money import UNITS, Money
from bats.common.offering import ClusterName, Offering
from bats.master.simulate.driver import Conditions
from bats.master.simulate.workloads import (
    Runtimes,
    Workload,
    bimodal,
    constant,
    log_normal,
    normal,
    truncated_levy,
)

from .study import chance

SECOND, MINUTE, HOUR = 1.0, 60.0, 3600.0
MACHINES = 8  # of each kind
DELAY_SECONDS = 90.0
DOLLARS_PER_HOUR = 0.10  # of a machine of speed 1 whose price is neither dear nor cheap
FASTEST = 4.0  # speeds are drawn between 1 and this
CHEAP, DEAR = 0.6, 1.6  # prices for the same speed are drawn between these

VALUES: Mapping[str, tuple[str, ...]] = {
    "atu": ("1s", "1s/60s", "1m", "10m", "1h"),
    "task": ("0.1s", "2s", "30s", "5m", "1h", "6h"),
    "N": ("10", "100", "1000"),
    "start": ("0", "90s", "billed"),
    "runtimes": ("constant", "normal", "levy", "log-normal", "bimodal"),
    "kinds": ("2", "3"),
    "budget": ("1.25", "1.5", "2"),
}
BILLING = {  # ATU, minimum; in seconds
    "1s": (SECOND, 0.0),
    "1s/60s": (SECOND, MINUTE),
    "1m": (MINUTE, 0.0),
    "10m": (10 * MINUTE, 0.0),
    "1h": (HOUR, 0.0),
}
SECONDS = dict(zip(VALUES["task"], (0.1, 2.0, 30.0, 5 * MINUTE, HOUR, 6 * HOUR), strict=True))


@dataclass(frozen=True, slots=True)
class Cell:
    atu: str
    task: str
    N: str
    start: str
    runtimes: str
    kinds: str
    budget: str = "1.5"  # times the least money

    @property
    def place(self) -> str:
        """Its name without the budget: what chance depends on."""
        values = zip(list(VALUES)[:-1], self.values, strict=False)
        return " ".join(f"{key}={value}" for key, value in values)

    @property
    def name(self) -> str:
        return f"{self.place} budget={self.budget}"

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(getattr(self, key) for key in VALUES)

    @property
    def tasks(self) -> int:
        return int(self.N)

    @property
    def mean_seconds(self) -> float:
        return SECONDS[self.task]

    @property
    def boot_seconds(self) -> float:
        """Billed, before the first task."""
        return DELAY_SECONDS if self.start == "billed" else 0.0

    @property
    def conditions(self) -> Conditions:
        delay = DELAY_SECONDS if self.start == "90s" else 0.0
        return Conditions(
            start_seconds=lambda _rng, _cluster: delay, boot_seconds=self.boot_seconds
        )

    def number(self, seed: int) -> int:
        """Of this place and seed: the seed of the world and of the engine."""
        return zlib.crc32(f"{self.place} seed={seed}".encode())


@dataclass(frozen=True, slots=True)
class Drawn:
    """The outcome of a cell."""

    runtimes: Runtimes  # on a machine of speed 1
    offerings: tuple[Offering, ...]
    speeds: tuple[float, ...]

    def seconds(self, task: int, cluster: int) -> float:
        return float(self.runtimes[task]) / self.speeds[cluster]

    def worth(self, cluster: int) -> float:
        """The price of a second's work of speed 1 there at the bare rate, in units of money."""
        offering = self.offerings[cluster]
        return offering.price / offering.atu_seconds / self.speeds[cluster]

    @property
    def cheapest(self) -> int:
        return min(range(len(self.offerings)), key=self.worth)


def drawn(cell: Cell, seed: int) -> Drawn:
    bag, machines = chance(cell.number(seed), 0), chance(cell.number(seed), 1)
    runtimes = workload(cell.runtimes, cell.mean_seconds).draw(cell.tasks, bag)
    atu, minimum = BILLING[cell.atu]
    speeds, offerings = [], []
    for kind in range(int(cell.kinds)):
        speed = _log_uniform(machines, 1.0, FASTEST)
        dollars = DOLLARS_PER_HOUR * speed * _log_uniform(machines, CHEAP, DEAR)
        price = Money(round(dollars * UNITS * atu / HOUR))
        name = ClusterName(f"kind{kind}")
        offerings.append(Offering(name, price, atu, MACHINES, minimum_seconds=minimum))
        speeds.append(speed)
    return Drawn(runtimes, tuple(offerings), tuple(speeds))


def _log_uniform(rng: Generator, low: float, high: float) -> float:
    return float(exp(rng.uniform(np.log(low), np.log(high))))


def workload(name: str, mean_seconds: float) -> Workload:
    """The distribution of that name, stretched to that mean."""
    minutes = mean_seconds / MINUTE
    made = {
        "constant": lambda: constant(minutes),
        "normal": lambda: normal(minutes, minutes * sqrt(5) / 15),
        "levy": lambda: truncated_levy(minutes * levy_scale(), minutes * 3),
        "log-normal": lambda: log_normal(minutes, 1.0),
        "bimodal": lambda: bimodal(minutes * 5 / 12, minutes * 40 / 12),
    }
    return made[name]()


@lru_cache(maxsize=1)
def levy_scale() -> float:
    """τ of the Lévy distribution that is cut at 3 and has a mean of 1."""

    def mean(scale: float, cut: float = 3.0) -> float:
        below = erfc(sqrt(scale / (2 * cut)))
        return (sqrt(2 * scale * cut / pi) * exp(-scale / (2 * cut)) - scale * below) / below

    return float(brentq(lambda scale: mean(scale) - 1, 0.01, 3.0))


# --- which cells ----------------------------------------------------------------------------------


def matrix(budgets: Sequence[str] = VALUES["budget"]) -> list[Cell]:
    values = [*list(VALUES.values())[:-1], tuple(budgets)]
    return [Cell(*combination) for combination in product(*values)]


def covering(cells: Sequence[Cell], seed: int) -> list[Cell]:
    """Few of them, yet every pair of values that occurs in one of them: greedily, by chance."""
    order = chance(12, seed).permutation(len(cells))
    pairs = [_pairs(cells[k]) for k in order]
    missing = set().union(*pairs)
    chosen = []
    while missing:
        best = max(range(len(order)), key=lambda k: len(pairs[k] & missing))
        missing -= pairs[best]
        chosen.append(cells[order[best]])
    return chosen


def _pairs(cell: Cell) -> frozenset[tuple[tuple[str, str], ...]]:
    return frozenset(combinations(zip(VALUES, cell.values, strict=True), 2))


def quick(seed: int, covers: int = 3) -> list[Cell]:
    """Every pair of values, budgets included, so many times."""
    cells = matrix()
    return unique(cell for k in range(covers) for cell in covering(cells, 100 * seed + k))


def full(seed: int) -> list[Cell]:
    """All cells at 1.5, and every pair of values at the other budgets."""
    others = matrix(("1.25", "2"))
    more = [cell for k in range(3) for cell in covering(others, 100 * seed + k)]
    return [*matrix(("1.5",)), *unique(more)]


def unique(cells: Iterable[Cell]) -> list[Cell]:
    return list(dict.fromkeys(cells))


def those(cells: Iterable[Cell], where: str) -> Iterator[Cell]:
    """Those whose values are as in `atu=1s,1m task=5m`: each of several, any of those after it."""
    wanted = {}
    for word in where.split():
        key, equals, values = word.partition("=")
        if key not in VALUES or not equals or not set(values.split(",")) <= set(VALUES[key]):
            known = "; ".join(f"{key}={','.join(values)}" for key, values in VALUES.items())
            raise ValueError(f"{word!r} names no values of the matrix. There are {known}.")
        wanted[key] = set(values.split(","))
    for cell in cells:
        if all(getattr(cell, key) in values for key, values in wanted.items()):
            yield cell
