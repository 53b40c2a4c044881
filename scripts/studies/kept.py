"""Is what was told kept? Price and time with their bounds, against what came of them.

A bag is chosen of by a rule, without a budget. What is told of the choice is held against what the
run took and cost. It asks before it passes the price told; then it is allowed what it asks for, and
that it asked counts as a price exceeded. Beside: offers that others dominate, and machines that
were bought, paid for, and ran nothing.

Every kind of bag that a distribution is fitted to stands beside kinds that nothing knows of, and
constants. Machines start after a while, which the sample measures.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from figures import Report
from numpy.random import Generator

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.believable import NAMES
from bats.master.brain.protocol.commands import RunTasks
from bats.master.brain.protocol.events import Allowed
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.foresight import foretell
from bats.master.simulate.workloads import WORKLOADS, Runtimes

from .study import Options, Study, chance, run_all

SPEEDS = (1.0, 2.0)
DOLLARS_PER_HOUR = ("0.36", "1.08")
MACHINES = 8
TASKS = (60, 300)
START_SECONDS = 60.0
ATUS = {"1s": 1.0, "1m": 60.0, "1h": 3600.0}
CONSTANT = "constant"
BOUNDS = (0.85, 0.97)
OFF = 0.02  # of what is told of constant tasks
EXCEEDED = 0.10


def _gamma(tasks: int, rng: Generator) -> Runtimes:
    return rng.gamma(2.0, 450.0, tasks) + 1.0


def _triangular(tasks: int, rng: Generator) -> Runtimes:
    return rng.triangular(300.0, 600.0, 2400.0, tasks)


def _gamma_mixture(tasks: int, rng: Generator) -> Runtimes:
    long = rng.random(tasks) < 0.3
    return np.where(long, rng.gamma(9.0, 240.0, tasks), rng.gamma(2.0, 150.0, tasks)) + 1.0


def _rarely_long(tasks: int, rng: Generator) -> Runtimes:
    """One task in a hundred takes a hundred times as long."""
    return np.where(rng.random(tasks) < 0.01, 30000.0, 300.0)


HELD_BACK = {
    "gamma": _gamma,
    "triangular": _triangular,
    "gamma mixture": _gamma_mixture,
    "rarely long": _rarely_long,
}
"""Kinds that no distribution of ours was made for."""

Job = tuple[str, str, str, int, int]


@dataclass(frozen=True, slots=True)
class Kept:
    """One run; seconds and money from the beginning of the bag."""

    finished: bool
    told_seconds: float
    most_seconds: float
    told_cost: float
    most_cost: float
    seconds: float
    cost: float
    asked: bool  # for more than was told
    dominated: int  # offers shown
    idle: int  # machines bought after the choice that ran nothing

    @property
    def time_held(self) -> bool:
        return self.finished and self.seconds <= self.most_seconds * (1 + 1e-9)

    @property
    def price_held(self) -> bool:
        return self.finished and self.cost <= self.most_cost * (1 + 1e-9)


def bag(kind: str, tasks: int, seed: int) -> Runtimes:
    rng = chance(15, sum(kind.encode()), tasks, seed)
    return HELD_BACK[kind](tasks, rng) if kind in HELD_BACK else WORKLOADS[kind].draw(tasks, rng)


def offerings(atu: float) -> tuple[Offering, ...]:
    return tuple(
        Offering(ClusterName(name), Money(int(money(price) * atu / 3600)), atu, MACHINES)
        for name, price in zip(("slow", "fast"), DOLLARS_PER_HOUR, strict=True)
    )


def one(job: Job) -> Kept | None:
    """None of a bag that was over before anything was chosen."""
    kind, rule, atu, tasks, seed = job
    runtimes = bag(kind, tasks, seed)
    simulation = Simulation(
        Settings(tasks, offerings(ATUS[atu]), rule=rule, seed=seed, foresight=True),
        lambda task, cluster: float(runtimes[task]) / SPEEDS[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: START_SECONDS),
        seed,
        keep_events=True,
        foretell=foretell,
    )
    simulation.run()
    told, asked = simulation.engine.view().told, False
    if told is None:
        return None
    for _ in range(40):
        run = simulation.engine.view()
        if run.paused is None or run.paused.budget is None:
            break
        asked = True
        simulation.tell(Allowed(run.paused.budget), run.now + 1.0)
        simulation.go_on()
    run = simulation.engine.view()
    history = simulation.history
    given = (command for commands in history.commands for command in commands)
    ran = {command.machine for command in given if isinstance(command, RunTasks)}
    offers = simulation.engine.headline().offered
    return Kept(
        len(history.records) == tasks,
        told.seconds,
        told.seconds_bound,
        float(told.cost),
        float(told.cost_bound),
        math.inf if history.ended_at is None else history.ended_at,
        float(simulation.engine.headline().settled),
        asked,
        sum(
            other.cost <= offer.cost and other.makespan_seconds <= offer.makespan_seconds
            for offer in offers
            for other in offers
            if other is not offer
        ),
        sum(machine not in ran for machine in history.uptimes),
    )


def kept(report: Report, options: Options) -> None:
    kinds = [*WORKLOADS, *HELD_BACK]
    rules, atus, tasks = NAMES, list(ATUS), TASKS
    if options.quick:
        kinds, rules, atus, tasks = (
            ["normal", "log-normal", CONSTANT],
            NAMES[::5],
            ["1s"],
            TASKS[:1],
        )
    seeds = options.seeds(10, 2)
    jobs = [
        (k, r, a, n, s) for k in kinds for r in rules for a in atus for n in tasks for s in seeds
    ]
    results = run_all(one, jobs, options, "kept")
    found = [(job, result) for job, result in zip(jobs, results, strict=True) if result]
    for kind in kinds:
        for atu in atus:
            mine = [result for job, result in found if (job[0], job[2]) == (kind, atu)]
            if mine:
                _row(report, f"{kind}, ATU {atu}", mine)
    everything = [result for _, result in found]
    _bars(report, [r for job, r in found if job[0] == CONSTANT], constant=True)
    _bars(report, [r for job, r in found if job[0] != CONSTANT], constant=False)
    report.bar("runs that did not finish", 0, *_none(not one.finished for one in everything))
    report.bar("offers that another dominates", 0, *_none(one.dominated for one in everything))
    report.bar("machines bought that ran nothing", 0, *_none(one.idle for one in everything))


def _none(counts: Iterable[int]) -> tuple[int, bool]:
    number = sum(counts)
    return number, number == 0


def _row(report: Report, what: str, mine: Sequence[Kept]) -> None:
    time, price = (
        _share(getattr(one, name) for one in mine) for name in ("time_held", "price_held")
    )
    off = median(one.seconds / one.told_seconds - 1 for one in mine)
    dearer = median(one.cost / one.told_cost - 1 for one in mine)
    width = median(one.most_seconds / one.seconds for one in mine)
    said = f"time off by {off:+.1%}, price by {dearer:+.1%}, bound over time {width:.2f}"
    report.figure(f"{what}: {said}; time held", None, round(time, 3), f"of {len(mine)}")
    report.figure(f"{what}: price held", None, round(price, 3), f"of {len(mine)}")


def _bars(report: Report, mine: Sequence[Kept], *, constant: bool) -> None:
    if not mine:
        return
    noise = 2 * math.sqrt(0.9 * 0.1 / len(mine))
    called = "constants" if constant else "all others"
    for what in ("time", "price"):
        share = _share(getattr(one, f"{what}_held") for one in mine)
        if constant:
            report.bar(f"90 % bound on {what} holds, {called}", 1.0, round(share, 3), share == 1.0)
            off = max(abs(_off(one, what)) for one in mine)
            report.bar(f"{what} off what was told, {called}", OFF, round(off, 3), off <= OFF)
        else:
            low, high = BOUNDS[0] - noise, BOUNDS[1] + noise
            limit = f"{BOUNDS[0]} to {BOUNDS[1]}, within the noise {low:.3f} to {high:.3f}"
            report.bar(f"90 % bound on {what} holds, {called}", limit, share, low <= share <= high)
    if not constant:
        asked = _share(one.asked for one in mine)
        report.bar("runs that asked for more than was told", EXCEEDED, asked, asked <= EXCEEDED)


def _off(one: Kept, what: str) -> float:
    if what == "time":
        return one.seconds / one.told_seconds - 1
    return one.cost / one.told_cost - 1


def _share(seen: Iterable[bool]) -> float:
    each = list(seen)
    return sum(each) / len(each)


STUDIES = (Study("kept", "are the prices and times told of what is chosen kept?", kept),)
