"""Promises of bags beside others: do their 90 % bounds hold as often as those of bags alone?

Three bags come one after the other while those before them run: tasks of 10 to 60 s on average,
log-normal, on a worker started by hand and on two kinds of rented machines of which there are too
few for all. Some have a budget, some are told what a schedule comes to and take that. Each bag then
runs once more alone, all else alike. A bound that was told last holds if the bag ended with all its
tasks by then, or cost no more.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, geometric_mean, median

from figures import Report

from bats.common.messages import BagId, TaskId
from bats.common.money import NOTHING, UNITS, Money
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import BagOutcome, Foretell
from bats.master.brain.protocol.events import Foretold
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Simulation
from bats.master.simulate.foresight import foretell
from bats.master.simulate.together import StartedByHand, Submission, Together

from .study import Options, Study, run_all

BAGS = 3
ATUS = (600.0, 3600.0)
DESK = Offering(ClusterName("desk"), NOTHING, 3600.0, 0, backend=MANUAL)
SLOTS = 4
PRICES, SPEEDS, MACHINES = (1.0, 2.2), (1.0, 2.0), (4, 3)  # prices an hour
RULES = ("budget", "fastest", "cheapest+20%")


@dataclass(frozen=True, slots=True)
class Life:
    """A bag; times are in seconds from its beginning, and None where nothing was told."""

    seconds: float
    cost: Money
    complete: bool
    bound: float | None
    cost_bound: Money | None

    @property
    def in_time(self) -> bool:
        return self.complete and self.bound is not None and self.seconds <= self.bound

    @property
    def within_price(self) -> bool:
        return self.cost_bound is not None and self.cost <= self.cost_bound


@dataclass(frozen=True, slots=True)
class World:
    beside: tuple[Life, ...]
    alone: tuple[Life, ...]


def runtimes(mean: float, seed: int) -> Callable[[TaskId, int], float]:
    """By the numbers of offerings: the desk is as fast as the slow kind."""

    def seconds(task: TaskId, kind: int) -> float:
        length = mean * random.Random(seed + task).lognormvariate(0, 0.5)
        return length / (1.0, *SPEEDS)[kind]

    return seconds


def submissions(atu: float, seed: int) -> list[Submission]:
    rng = random.Random(seed)
    kinds = tuple(
        Offering(ClusterName(name), Money(round(price * atu / 3600 * UNITS)), atu, most)
        for name, price, most in zip(("slow", "fast"), PRICES, MACHINES, strict=True)
    )
    found: list[Submission] = []
    at = 0.0
    for k in range(BAGS):
        tasks, mean = rng.randint(40, 100), rng.choice([20.0, 40.0, 60.0])
        rule = rng.choice(RULES)
        settings = Settings(tasks, (DESK, *kinds), seed=seed * BAGS + k, foresight=True)
        if rule == "budget":
            hours = tasks * mean / 3600 + 2 * atu / 3600 * sum(PRICES)
            budget = Money(round(hours * rng.uniform(1.0, 2.0) * UNITS))
            settings = replace(settings, budget=budget)
        else:
            settings = replace(settings, rule=rule)
        found.append(Submission(settings, runtimes(mean, rng.randrange(10**9)), at))
        at += tasks * mean / 8 * rng.uniform(0.1, 0.9)  # while it runs
    return found


def life(one: Simulation) -> Life:
    head = one.engine.headline()
    complete = head.outcome is BagOutcome.COMPLETE
    told = one.engine.view().told
    return Life(
        one.history.ended_at or math.inf,
        head.settled,
        complete,
        told.seconds_bound if told else None,
        told.cost_bound if told else None,
    )


def foretell_once(engine: Engine, asked: Foretell) -> Foretold:
    """Looks at a promise later change nothing that is decided, and take most of the time."""
    return Foretold(()) if engine.view().told else foretell(engine, asked)


def lives(bags: Sequence[Submission]) -> tuple[Life, ...]:
    world = Together(bags, [StartedByHand(SLOTS)], foretell=foretell_once)
    world.run()
    return tuple(life(world.bags[BagId(k)]) for k in range(1, len(bags) + 1))


def both(job: tuple[float, int]) -> World:
    bags = submissions(*job)
    return World(lives(bags), tuple(lives([one])[0] for one in bags))


def noise(share: float, bags: int) -> float:
    """Twice the standard error of the difference of two shares of so many bags each."""
    return 2 * math.sqrt(2 * share * (1 - share) / bags)


def study(report: Report, options: Options) -> None:
    for atu in ATUS:
        seeds = options.seeds(50, 2)
        worlds = run_all(both, [(atu, seed) for seed in seeds], options, f"beside {atu:g}")
        told = [
            (place, a, b)
            for one in worlds
            for place, (a, b) in enumerate(zip(one.beside, one.alone, strict=True))
            if a.bound is not None and b.bound is not None
        ]
        said = f"ATU {atu:g} s, {len(told)} bags: "
        for what in ("in_time", "within_price"):
            words = what.replace("_", " ")
            beside, alone = (fmean(getattr(one[k], what) for one in told) for k in (1, 2))
            limit = alone - noise(alone, len(told))
            report.figure(f"{said}alone {words}", None, alone)
            report.bar(f"{said}beside others {words}", limit, beside, beside >= limit)
        for place, name in enumerate(("first", "second", "third")):
            mine = [(a, b) for k, a, b in told if k == place]
            if not mine:
                continue
            for words, k in (("beside others", 0), ("alone", 1)):
                share = fmean(one[k].in_time for one in mine)
                report.figure(f"{said}{name} of three, {words}, in time", None, share)
                wide = median((one[k].bound or 0.0) / one[k].seconds for one in mine)
                report.figure(f"{said}{name} of three, {words}, median bound / time", None, wide)
            slower = geometric_mean(a.seconds / b.seconds for a, b in mine)
            report.figure(f"{said}{name} of three: time beside others", None, slower, "× alone")


STUDIES = (Study("beside", "90 % bounds of bags beside others, and of the same alone", study),)
