"""Lending measured: ten bags with budgets side by side, with and without it.

What is left of paid time goes to other bags. Each world is run twice, all else alike: two kinds of
machines, one twice as fast for 2.2 times the price, and bags of 5 to 60 tasks of 20 s to 10 minutes
on average that come within half an hour. Costs and times are compared bag by bag.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from figures import Report

from bats.common.messages import BagId, TaskId
from bats.common.money import UNITS, Money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import replay
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.together import Submission, Together

from .study import Options, Study, run_all

BAGS = 10
ATUS = (60.0, 600.0, 3600.0)
PRICES = (1.0, 2.2)  # an hour
SPEEDS = (1.0, 2.0)
MACHINES = 16  # of each kind
MEANS = (20.0, 120.0, 600.0)
WITHIN_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Life:
    cost: Money
    seconds: float
    complete: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """The bags of a world without lending and with it."""

    without: tuple[Life, ...]
    lending: tuple[Life, ...]
    violations: int  # budgets passed, and journals that say something else alone


def runtimes(mean: float, seed: int) -> Callable[[TaskId, int], float]:
    def seconds(task: TaskId, kind: int) -> float:
        return mean * random.Random(seed + task).lognormvariate(0, 0.5) / SPEEDS[kind]

    return seconds


def submissions(atu: float, seed: int) -> list[Submission]:
    rng = random.Random(seed)
    kinds = tuple(
        Offering(ClusterName(name), Money(round(price * atu / 3600 * UNITS)), atu, MACHINES)
        for name, price in zip(("slow", "fast"), PRICES, strict=True)
    )
    found = []
    for k in range(BAGS):
        tasks, mean = rng.randint(5, 60), rng.choice(MEANS)
        hours = 2 * tasks * mean / 3600 + 4 * atu / 3600 * sum(PRICES)
        budget = Money(round(hours * rng.uniform(0.8, 1.6) * UNITS))
        found.append(
            Submission(
                Settings(tasks, kinds, budget, seed=k),
                runtimes(mean, rng.randrange(10**9)),
                rng.uniform(0, WITHIN_SECONDS),
            )
        )
    return found


def run(bags: list[Submission], *, lending: bool) -> tuple[tuple[Life, ...], int]:
    world = Together(bags, lending=lending, keep_events=lending)
    world.run()
    lives, violations = [], 0
    for bag in range(1, BAGS + 1):
        one = world.bags[BagId(bag)]
        head = one.engine.headline()
        complete = head.outcome is BagOutcome.COMPLETE
        lives.append(Life(head.settled, one.history.ended_at or math.inf, complete))
        violations += head.settled > (bags[bag - 1].settings.budget or 0)
        if lending:
            violations += replay(one.settings, one.history.events).digest() != one.engine.digest()
    return tuple(lives), violations


def pair(job: tuple[float, int]) -> Pair:
    bags = submissions(*job)
    without, wrong = run(bags, lending=False)
    lending, also = run(bags, lending=True)
    return Pair(without, lending, wrong + also)


def study(report: Report, options: Options) -> None:
    for atu in ATUS:
        seeds = options.seeds(200, 4)
        pairs = run_all(pair, [(atu, seed) for seed in seeds], options, f"lending {atu:g}")
        both = [
            (a, b)
            for one in pairs
            for a, b in zip(one.without, one.lending, strict=True)
        ]  # fmt: skip
        done = [(a, b) for a, b in both if a.complete and b.complete]
        said = f"ATU {atu:g} s, {len(pairs)} worlds: "
        money = sum(b.cost for _, b in both) / sum(a.cost for a, _ in both)
        time = math.exp(fmean(math.log(b.seconds / a.seconds) for a, b in done))
        report.bar(said + "money by that without", 1.0, money, money <= 1)
        report.bar(said + "time of a bag, geometric mean, likewise", 1.0, time, time <= 1)
        for what, share in (
            ("that paid less", fmean(b.cost < a.cost for a, b in both)),
            ("that paid more", fmean(b.cost > a.cost for a, b in both)),
            ("that were 1 % faster", fmean(b.seconds < 0.99 * a.seconds for a, b in done)),
            ("that were 1 % slower", fmean(b.seconds > 1.01 * a.seconds for a, b in done)),
        ):
            report.figure(f"{said}bags {what}", None, share)
        lost = sum(a.complete and not b.complete for a, b in both)
        won = sum(b.complete and not a.complete for a, b in both)
        report.figure(f"{said}bags that ended without all tasks only with it", None, lost)
        report.figure(f"{said}bags that ended without all tasks only without it", None, won)
        wrong = sum(one.violations for one in pairs)
        report.bar(f"{said}budgets passed, journals that differ", 0, wrong, wrong == 0)


STUDIES = (Study("lending", "paid time that goes to other bags: what it saves", study),)
