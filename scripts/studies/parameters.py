"""Runtimes that follow a sweep's parameters: what is it worth to learn how?

Five laws, and parameters that say nothing (the same runtimes, dealt out anew). Each bag is run
twice in virtual time, with its parameters and without, on machines that cost nothing and on ones
paid by the second, minute and hour, with up to 20 tasks for each place.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean

import numpy as np
from figures import Report
from numpy.random import Generator
from numpy.typing import NDArray

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.parameters import Parameter, parameters_of
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation

from .study import Options, Study, chance, run_all

Floats = NDArray[np.float64]

SHORTER = 0.08
NO_LONGER = 0.01
NOISE = (0.05, 0.3)  # σ of log runtimes that no parameter tells
PLACES = (4, 16)
PER_PLACE = (6, 12, 20)
MEAN_SECONDS = 300.0
ATUS = (0.0, 1.0, 60.0, 3600.0)  # 0: the machines cost nothing
START_SECONDS = 30.0
SPREAD = 4.0  # p95 over p50, at least
NOTHING_SAID = "none of them says anything"

Job = tuple[str, int, int, float, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """One bag, run with its parameters and without: seconds, None if it was not done."""

    with_them: float | None
    without: float | None
    spread: float  # p95 / p50
    law: bool  # one was found


def _sizes(tasks: int, rng: Generator, low: float, high: float) -> Floats:
    """Sizes as users vary them: each twice the one before, several times over."""
    steps = np.arange(math.log2(low), math.log2(high) + 0.5)
    return np.asarray(2.0 ** rng.choice(steps, tasks))


Columns = dict[str, Sequence[str]]
Drawn = tuple[Columns, Floats]


def _written(values: Floats) -> list[str]:
    return [f"{value:g}" for value in values]


def _power(tasks: int, rng: Generator) -> Drawn:
    n = _sizes(tasks, rng, 10, 320)
    return {"n": _written(n), "seed": _written(np.arange(tasks) + 1.0)}, n**1.5


def _product(tasks: int, rng: Generator) -> Drawn:
    n, m = _sizes(tasks, rng, 10, 160), _sizes(tasks, rng, 1, 32)
    return {"n": _written(n), "m": _written(m)}, n * m


def _growth(tasks: int, rng: Generator) -> Drawn:
    k = rng.integers(1, 9, tasks).astype(float)
    return {"k": _written(k), "seed": _written(np.arange(tasks) + 1.0)}, 2.0**k


def _words(tasks: int, rng: Generator) -> Drawn:
    n, method = _sizes(tasks, rng, 10, 80), rng.integers(0, 3, tasks)
    columns: Columns = {
        "method": [("plain", "careful", "thorough")[k] for k in method],
        "n": _written(n),
    }
    return columns, n * np.array([1.0, 4.0, 16.0])[method]


def _affine(tasks: int, rng: Generator) -> Drawn:
    n = _sizes(tasks, rng, 10, 640)
    return {"n": _written(n), "seed": _written(np.arange(tasks) + 1.0)}, 500 + n**2 / 10


LAWS: dict[str, Callable[[int, Generator], Drawn]] = {
    "n^1.5": _power,
    "n·m": _product,
    "2^k": _growth,
    "n · by method": _words,
    "500 + n²/10": _affine,
}


def one(job: Job) -> Pair:
    name, places, per_place, atu, seed = job
    rng = chance(seed, 15, 6)
    tasks = places * per_place
    law = LAWS[name if name in LAWS else list(LAWS)[seed % len(LAWS)]]
    columns, seconds = law(tasks, rng)
    seconds = seconds * np.exp(rng.normal(0.0, rng.choice(NOISE), tasks))
    seconds *= MEAN_SECONDS / seconds.mean()
    if name not in LAWS:
        rng.shuffle(seconds)
    middle, long = np.percentile(seconds, (50, 95))
    with_them, found = _run(seconds, parameters_of(columns), places, atu, seed)
    without, _ = _run(seconds, (), places, atu, seed)
    return Pair(with_them, without, float(long / middle), found)


def _run(
    seconds: Floats, parameters: tuple[Parameter, ...], places: int, atu: float, seed: int
) -> tuple[float | None, bool]:
    """Seconds to the last result; with money for half as much again as the work costs."""
    price = Money(int(money("0.36") * atu / 3600)) if atu else Money(0)
    offering = Offering(ClusterName("some"), price, atu or 3600.0, places)
    work = float(seconds.sum()) * float(price) / (atu or 3600.0)
    budget = Money(int(1.5 * work + 2 * places * price)) if atu else None
    settings = Settings(
        len(seconds), (offering,), budget, seed=seed, parameters=parameters, sampling="regression"
    )
    if not atu:
        settings = replace(settings, sampling="none")
    simulation = Simulation(
        settings,
        lambda task, _cluster: float(seconds[task]),
        Conditions(start_seconds=lambda _rng, _cluster: START_SECONDS if atu else 0.0),
    )
    history = simulation.run()
    found = any(words.startswith("runtime ") for _, words in history.decisions)
    run = simulation.engine.headline()
    return (history.ended_at if run.done == len(seconds) else None), found


def parameters(report: Report, options: Options) -> None:
    bags = options.bags or (1 if options.quick else 12)
    cells = list(product([*LAWS, NOTHING_SAID], ATUS))
    each = list(product(PLACES, PER_PLACE))
    jobs = [
        (law, places, per_place, atu, options.seed * 1000 + number)
        for (law, atu), (places, per_place), number in product(cells, each, range(bags))
    ]
    found = run_all(one, jobs, options, "parameters")
    for law, atu in cells:
        pairs = [
            pair
            for job, pair in zip(jobs, found, strict=True)
            if (job[0], job[3]) == (law, atu) and pair.spread >= SPREAD
        ]
        _row(report, law, atu, pairs)


def _row(report: Report, law: str, atu: float, pairs: Sequence[Pair]) -> None:
    """A bar on the mean makespan of the cell's bags, with its standard error."""
    both = [(p.with_them, p.without) for p in pairs if p.with_them and p.without]
    if len(both) < 2:
        return
    ratios = [a / b for a, b in both]
    error = float(np.std(ratios, ddof=1)) / math.sqrt(len(ratios))
    mean, paid = fmean(ratios), f"ATU of {atu:g} s" if atu else "free"
    most = 1 - SHORTER if law in LAWS else 1 + NO_LONGER
    laws = fmean(pair.law for pair in pairs)
    words = (
        f"{law}, {paid}: {len(pairs)} bags, a law in {laws:.0%}; not done with parameters "
        f"{sum(not p.with_them for p in pairs)}, without {sum(not p.without for p in pairs)}; "
        f"makespan (± {error:.3f})"
    )
    report.figure(words, None, round(mean, 3), "of that without")
    report.bar(f"{law}, {paid}: makespan with over without", round(most, 2), mean, mean <= most)


STUDIES = (
    Study("parameters", "what it is worth that runtimes follow a sweep's parameters", parameters),
)
