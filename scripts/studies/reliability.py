"""Reliability of what is told within a budget: of bags told to finish by 70 %, do 70 % finish?

A budget is given and the engine makes the best of it. What is told then, by copies that run ahead,
is held against what comes of it: the chance that the money suffices, and the 90 % bound on the end
of those that finish. Told chances fall into fifths; a fifth of many bags must be right. Every run
has a bag of its own, so that the noise of a share is that of so many draws: two σ are told.

Two kinds of bags were looked at when all was done, and never before.
"""

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, median

import numpy as np
from figures import Report
from numpy.random import Generator

from bats.common.money import Money
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import Foretell
from bats.master.brain.protocol.events import Foretold
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.foresight import foretell
from bats.master.simulate.workloads import WORKLOADS, Runtimes, weibull

from . import plot
from .kept import ATUS, BOUNDS, CONSTANT, HELD_BACK, SPEEDS, START_SECONDS, bag, offerings
from .study import Options, Study, chance, run_all

BUDGETS = (1.1, 1.2, 1.35, 1.5, 1.75, 2.0)
"""Times what the work of the bag costs on the cheapest kind, by the second."""
TASKS = 60
FIFTHS = 5
APART = 0.05
MANY = 500  # bags of a fifth that must be right
WIDTH = {CONSTANT: 1.05, "normal": 1.25}  # of the bound over what came, the median at most
WIDTH_OF_OTHERS = 1.4


def _drifting(tasks: int, rng: Generator) -> Runtimes:
    """Two lengths, and both grow by half from the first task to the last."""
    lengths = np.where(rng.random(tasks) < 0.3, 1800.0, 400.0)
    return lengths * np.linspace(1.0, 1.5, tasks)


LOOKED_AT_LAST = {
    "weibull .6": lambda tasks, rng: weibull(shape=0.6).draw(tasks, rng),
    "drifting": _drifting,
}

Job = tuple[str, float, str, int, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    told: float  # the chance that the money suffices
    finished: bool
    median_over: float  # of the end that was told, the median over what came
    bound_over: float  # and the bound


def one(job: Job) -> Outcome | None:
    """None of a bag that was over before anything was told."""
    kind, factor, atu, tasks, seed = job
    own = zlib.crc32(repr(job).encode())
    if kind in LOOKED_AT_LAST:
        runtimes = LOOKED_AT_LAST[kind](tasks, chance(16, own))
    else:
        runtimes = bag(kind, tasks, own)
    offered = offerings(ATUS[atu])
    work = min(
        float(runtimes.sum()) / speed * offering.price / offering.atu_seconds
        for speed, offering in zip(SPEEDS, offered, strict=True)
    )
    simulation = Simulation(
        Settings(tasks, offered, budget=Money(int(work * factor)), seed=seed, foresight=True),
        lambda task, cluster: float(runtimes[task]) / SPEEDS[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: START_SECONDS),
        seed,
        foretell=_once,
    )
    simulation.run()
    told = simulation.engine.view().told
    offers = simulation.engine.foretold
    if told is None or not offers:
        return None
    told_chance = next(
        one.bounds.chance_in_budget for one in offers if one.name == told.name and one.bounds
    )
    history = simulation.history
    finished = len(history.records) == tasks
    ended = history.ended_at or math.inf
    return Outcome(told_chance, finished, told.seconds / ended, told.seconds_bound / ended)


def _once(engine: Engine, asked: Foretell) -> Foretold:
    """The first answer alone: later looks change nothing of what is measured here."""
    return Foretold(()) if engine.view().told else foretell(engine, Foretell(asked.schedules[:1]))


def reliability(report: Report, options: Options) -> None:
    kinds = [*WORKLOADS, *HELD_BACK, *LOOKED_AT_LAST]
    atus = list(ATUS)
    if options.quick:
        kinds, atus = ["normal", "log-normal"], ["1m"]
    seeds = options.seeds(300, 3)
    jobs = list(product(kinds, BUDGETS, atus, (TASKS,), seeds))
    found = run_all(one, jobs, options, "reliability")
    results = [(job, outcome) for job, outcome in zip(jobs, found, strict=True) if outcome]
    for kind in kinds:
        for atu in atus:
            _row(
                report, f"{kind}, ATU {atu}", [o for j, o in results if (j[0], j[2]) == (kind, atu)]
            )
    _bars(report, results)
    curves = {
        kind: _curve([outcome for job, outcome in results if job[0] == kind]) for kind in kinds
    }
    curves["all but constant"] = _curve([o for job, o in results if job[0] != CONSTANT])
    for name, fifths in curves.items():
        for told, share, number in fifths:
            noise = 2 * math.sqrt((share * (1 - share) + 1 / (4 * number)) / number)
            words = f"{name}: told {told:.0%}, finished"
            report.figure(words, None, round(share, 3), f"± {noise:.2f}, of {number}")
    for told, share, number in curves["all but constant"]:
        if number >= MANY:
            apart = abs(told - share)
            report.bar(f"told {told:.0%} and share finished, apart", APART, apart, apart <= APART)
    plot.points(
        options.out / "reliability.svg",
        "Share of bags that finished over the chance told",
        [
            plot.Points(name, [(told, share) for told, share, _ in fifths], joined=True)
            for name, fifths in curves.items()
            if fifths
        ]
        + [plot.Points("as told", [(0.0, 0.0), (1.0, 1.0)], joined=True)],
        x="chance told",
        y="share finished",
        highest=1.0,
    )


def _curve(outcomes: Sequence[Outcome]) -> list[tuple[float, float, int]]:
    """For each fifth that holds some: the mean chance told, the share finished, how many."""
    fifths: list[list[Outcome]] = [[] for _ in range(FIFTHS)]
    for outcome in outcomes:
        fifths[min(FIFTHS - 1, int(outcome.told * FIFTHS))].append(outcome)
    return [
        (fmean(one.told for one in mine), _share(one.finished for one in mine), len(mine))
        for mine in fifths
        if mine
    ]


def _row(report: Report, what: str, mine: Sequence[Outcome]) -> None:
    done = [outcome for outcome in mine if outcome.finished]
    if not done:
        return
    held = _share(map(_held, done))
    off = median(1 / outcome.median_over for outcome in done) - 1
    width = median(outcome.bound_over for outcome in done)
    words = f"{what}: time off by {off:+.1%}, bound over time {width:.2f}; bound held"
    noise = 2 * math.sqrt((held * (1 - held) + 1 / (4 * len(done))) / len(done))
    report.figure(words, None, round(held, 3), f"± {noise:.2f}, of {len(done)}")


def _bars(report: Report, results: Sequence[tuple[Job, Outcome]]) -> None:
    done = [(job, outcome) for job, outcome in results if outcome.finished]
    ours, last = (
        [one for (kind, *_), one in done if kind != CONSTANT and (kind in LOOKED_AT_LAST) is late]
        for late in (False, True)
    )
    for what, mine in (("all but constant", ours), ("kinds looked at last", last)):
        if mine:
            held, noise = _share(map(_held, mine)), 2 * math.sqrt(0.9 * 0.1 / len(mine))
            low, high = BOUNDS[0] - noise, BOUNDS[1] + noise
            limit = f"{BOUNDS[0]} to {BOUNDS[1]}, within the noise {low:.3f} to {high:.3f}"
            report.bar(f"90 % bound on time holds, {what}", limit, held, low <= held <= high)
    constant = [outcome for (kind, *_), outcome in done if kind == CONSTANT]
    if constant:
        held = _share(map(_held, constant))
        report.bar("90 % bound on time holds, constants", 1.0, held, held == 1.0)
    for kind in dict.fromkeys(kind for (kind, *_), _ in done):
        width = median(outcome.bound_over for (of, *_), outcome in done if of == kind)
        most = WIDTH.get(kind, WIDTH_OF_OTHERS)
        report.bar(f"{kind}: bound over time, median", most, round(width, 3), width <= most)


def _held(outcome: Outcome) -> bool:
    return outcome.bound_over >= 1 - 1e-9


def _share(seen: Iterable[bool]) -> float:
    return fmean(seen)


STUDIES = (
    Study("reliability", "do as many bags finish as was told, within a budget?", reliability),
)
