"""Bags to study: runtimes drawn from the distributions of the paper (T §4.4) and from others.

`WORKLOADS` names them; the makers below it take other parameters, a list or a file of runtimes.
"""

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import erfc, erfcinv

from bats.common.errors import UsageError
from bats.common.records import dataclass
from bats.common.units import in_words

Runtimes = NDArray[np.float64]
MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Workload:
    """A way to draw the runtimes, in seconds, that a bag's tasks take on a machine of speed 1."""

    name: str
    about: str
    draw: Callable[[int, Generator], Runtimes]
    count: int = 0  # how many runtimes are known; 0: drawn from a distribution


def normal(mean_minutes: float = 15.0, sigma_minutes: float = math.sqrt(5)) -> Workload:
    """NDB; what falls below a hundredth of the mean is lifted to it."""

    def draw(n: int, rng: Generator) -> Runtimes:
        minutes = rng.normal(mean_minutes, sigma_minutes, n)
        return np.maximum(minutes, mean_minutes / 100) * MINUTE

    return Workload("normal", f"normal, {mean_minutes:.3g} ± {sigma_minutes:.3g} min", draw)


def truncated_levy(scale_minutes: float = 12.0, longest_minutes: float = 45.0) -> Workload:
    """LTB: x = τ/(2·erfcinv(u·erfc(√(τ/2b)))²); mean 14.8, σ 11.1 min as the paper has it."""

    def draw(n: int, rng: Generator) -> Runtimes:
        u = 1.0 - rng.random(n)  # never 0
        below_b = erfc(math.sqrt(scale_minutes / (2 * longest_minutes)))
        minutes: Runtimes = scale_minutes / (2 * erfcinv(u * below_b) ** 2)
        return minutes * MINUTE

    return Workload(
        "levy", f"Lévy, scale {scale_minutes:.3g} min, up to {longest_minutes:.3g} min", draw
    )


def multi_modal() -> Workload:
    """MDB: two truncated Cauchy and three uniform parts, as in the paper.

    It prints no parameters. These are our own, chosen for what it prints: mean 7.9, σ 6.27 min,
    two modes (at 4 and 12 min), next to nothing between 20 and 30 min, and a thin tail of two
    uniform parts (2 % of the tasks, up to 45 min). Samples of it behave like those of the paper:
    about half of the χ² intervals for σ hold (tables 4.2 to 4.4).
    """
    share = (0.563, 0.217, 0.200, 0.012, 0.008)

    def draw(n: int, rng: Generator) -> Runtimes:
        part = rng.choice(len(share), n, p=share)
        minutes = np.choose(
            part,
            [
                _truncated_cauchy(rng, n, mode=4.0, width=0.6, low=0.5, high=25.0),
                _truncated_cauchy(rng, n, mode=12.0, width=0.8, low=0.5, high=25.0),
                rng.uniform(1.0, 20.0, n),
                rng.uniform(30.0, 37.5, n),
                rng.uniform(37.5, 45.0, n),
            ],
        )
        return minutes * MINUTE

    return Workload("multi-modal", "two modes and a thin tail, 7.9 ± 6.3 min", draw)


def log_normal(mean_minutes: float = 15.0, sigma: float = 1.0) -> Workload:
    """`sigma` is that of the logarithm."""

    def draw(n: int, rng: Generator) -> Runtimes:
        return rng.lognormal(math.log(mean_minutes * MINUTE) - sigma**2 / 2, sigma, n)

    return Workload("log-normal", f"log-normal, mean {mean_minutes:.3g} min, σ {sigma:g}", draw)


def weibull(mean_minutes: float = 15.0, shape: float = 0.8) -> Workload:
    def draw(n: int, rng: Generator) -> Runtimes:
        seconds: Runtimes = (
            rng.weibull(shape, n) * mean_minutes * MINUTE / math.gamma(1 + 1 / shape)
        )
        return np.maximum(seconds, mean_minutes / 1000 * MINUTE)

    return Workload("weibull", f"Weibull, mean {mean_minutes:.3g} min, shape {shape:g}", draw)


def bimodal(
    short_minutes: float = 5.0, long_minutes: float = 40.0, long_share: float = 0.2
) -> Workload:
    """Two kinds of task, each within ±10 % (one σ)."""

    def draw(n: int, rng: Generator) -> Runtimes:
        centre = np.where(rng.random(n) < long_share, long_minutes, short_minutes)
        spread = np.clip(rng.normal(1.0, 0.1, n), 0.1, None)
        return centre * spread * MINUTE

    return Workload(
        "bimodal", f"{short_minutes:.3g} min, or {long_minutes:.3g} for {long_share:.0%}", draw
    )


def truncated_pareto(
    shortest_minutes: float = 4.0, longest_minutes: float = 240.0, alpha: float = 1.3
) -> Workload:
    def draw(n: int, rng: Generator) -> Runtimes:
        beyond = (shortest_minutes / longest_minutes) ** alpha
        minutes: Runtimes = shortest_minutes * (1 - rng.random(n) * (1 - beyond)) ** (-1 / alpha)
        return minutes * MINUTE

    return Workload("pareto", f"Pareto, {shortest_minutes:.3g} to {longest_minutes:.3g} min", draw)


def constant(minutes: float = 15.0) -> Workload:
    seconds = minutes * MINUTE
    about = f"{seconds:.3g} s" if seconds < MINUTE else in_words(seconds)
    return Workload("constant", f"every task {about}", lambda n, _: np.full(n, seconds))


def from_runtimes(seconds: Sequence[float], name: str = "runtimes") -> Workload:
    """The tasks of a bag that has run, in random order; of a larger bag, with replacement."""
    known = np.asarray(seconds, dtype=np.float64)
    if known.size == 0 or not np.all(np.isfinite(known)) or np.any(known <= 0):
        raise UsageError(f"{name}: runtimes must be at least one number of seconds, all above 0.")

    def draw(n: int, rng: Generator) -> Runtimes:
        return rng.choice(known, n, replace=n > known.size)

    about = f"{known.size} runtimes, mean {known.mean() / MINUTE:.3g} min"
    return Workload(name, about, draw, known.size)


def from_csv(path: Path, column: str | None = None) -> Workload:
    """Runtimes in seconds from a CSV file: `column` of its header, or the first column."""
    runtimes: list[float] = []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    place = 0
    for number, row in enumerate(rows, 1):
        if number == 1 and column is not None:
            if column not in row:
                raise UsageError(f"{path}: no column {column!r}; there are {', '.join(row)}.")
            place = row.index(column)
            continue
        if not row:
            continue
        try:
            runtimes.append(float(row[place]))
        except (ValueError, IndexError) as error:
            if number == 1:  # a header, though no column was asked for
                continue
            raise UsageError(f"{path}, line {number}: {row} has no number of seconds.") from error
    return from_runtimes(runtimes, str(path))


def _truncated_cauchy(
    rng: Generator, n: int, mode: float, width: float, low: float, high: float
) -> Runtimes:
    u = rng.uniform(math.atan((low - mode) / width), math.atan((high - mode) / width), n)
    return mode + width * np.tan(u)


WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        normal(),
        truncated_levy(),
        multi_modal(),
        log_normal(),
        weibull(),
        bimodal(),
        truncated_pareto(),
        constant(),
    )
}
