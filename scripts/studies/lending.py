"""Lending measured: ten bags with budgets side by side, with and without it.

What is left of paid time goes to other bags. Each world is run twice, all else alike: two kinds of
machines, one twice as fast for 2.2 times the price, and bags of 5 to 60 tasks of 20 s to 10 minutes
on average that come within half an hour. Costs and times are compared bag by bag.

Which task is begun next is drawn, and one loan changes all that is drawn after it. So each world is
run with several orders of its tasks, all else alike: the same ones with and without lending. A bag
is clearly dearer or slower by lending if the mean of its differences is above what chance makes of
it in 39 of 40 cases (Student's t, one-sided). What an order alone changes is told beside.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from figures import Report
from scipy.stats import t

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
ORDERS = 8
CHANCE = 0.025  # of a bag that lending changes nothing of, to be taken for one that it costs
WORTH_TELLING = 0.001  # a smaller part is nothing


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


def pair(job: tuple[float, int, int]) -> Pair:
    """A world with the tasks in the order of that number."""
    atu, seed, order = job
    bags = [
        replace(one, settings=replace(one.settings, seed=one.settings.seed + 1000 * order))
        for one in submissions(atu, seed)
    ]
    without, wrong = run(bags, lending=False)
    lending, also = run(bags, lending=True)
    return Pair(without, lending, wrong + also)


def clearly(pairs: Sequence[tuple[float, float]]) -> int:
    """1 if the second of each pair is more than the first beyond chance, -1 if less, else 0."""
    changes = [math.log(b / a) for a, b in pairs]
    if len(changes) < 4:
        return 0
    mean, error = fmean(changes), stdev(changes) / math.sqrt(len(changes))
    beyond = abs(mean) > max(float(t.isf(CHANCE, len(changes) - 1)) * error, WORTH_TELLING)
    return int(math.copysign(1, mean)) if beyond else 0


def study(report: Report, options: Options) -> None:
    orders = 4 if options.quick else ORDERS
    for atu in ATUS:
        jobs = [(atu, seed, k) for seed in options.seeds(12, 1) for k in range(orders)]
        pairs = run_all(pair, jobs, options, f"lending {atu:g}")
        said = f"ATU {atu:g} s, {len(pairs)} worlds: "
        _of_all(report, said, pairs)
        _of_each(report, said, [pairs[k : k + orders] for k in range(0, len(pairs), orders)])


def _of_all(report: Report, said: str, pairs: Sequence[Pair]) -> None:
    both = [(a, b) for one in pairs for a, b in zip(one.without, one.lending, strict=True)]
    done = [(a, b) for a, b in both if a.complete and b.complete]
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


def _of_each(report: Report, said: str, worlds: Sequence[Sequence[Pair]]) -> None:
    """Every bag by itself, over all orders of its tasks."""
    bags = [
        [(one.without[k], one.lending[k]) for one in orders]
        for orders in worlds
        for k in range(BAGS)
    ]
    done = [[(a, b) for a, b in one if a.complete and b.complete] for one in bags]
    again = [one[1:] + one[:1] for one in done]  # the next order, without lending both
    for what in ("cost", "seconds"):
        more = "dearer" if what == "cost" else "slower"
        found = [clearly([(getattr(a, what), getattr(b, what)) for a, b in one]) for one in done]
        share = fmean(one > 0 for one in found)
        limit = CHANCE + 2 * math.sqrt(CHANCE * (1 - CHANCE) / len(found))
        report.bar(f"{said}bags clearly {more} by lending", limit, share, share <= limit)
        less = fmean(one < 0 for one in found)
        report.figure(f"{said}bags clearly less {more}", None, less)
        by_order = fmean(
            getattr(after, what) > 1.01 * getattr(before, what)
            for one, other in zip(done, again, strict=True)
            for (before, _), (after, _) in zip(one, other, strict=True)
        )
        report.figure(f"{said}bags 1 % {more} by another order alone", None, by_order)


STUDIES = (Study("lending", "paid time that goes to other bags: what it saves", study),)
