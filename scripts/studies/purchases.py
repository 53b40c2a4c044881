"""Offers that dominate others, and machines bought for nothing, in random worlds of any kind.

A world has up to three kinds of machines of any speed and price, ATUs from a second to an hour,
starts and minimum charges, and a bag of any size and spread. Of its offers as they are planned the
figures waver, as those of few runs ahead do; a twin looks at every pair that is shown. A story runs
the bag to its end, by a rule or within a budget: a machine that was charged and was given no task
was bought for nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from figures import Report
from numpy.random import Generator

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.believable import NAMES, believable
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.schedules import Schedule, offers
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.protocol.commands import RunTasks
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workloads import WORKLOADS, Runtimes

from .study import Options, Study, chance, run_all

WORLDS, STORIES = 10_000, 1_000
SEVERAL = 1_000  # machines of stories from this number on have several slots
AT_ONCE = 100  # worlds of a job
ATUS = (1.0, 60.0, 600.0, 3600.0)
WAVERS = 0.1  # σ of the logarithm of what is told


@dataclass(frozen=True, slots=True)
class World:
    offerings: tuple[Offering, ...]
    speeds: tuple[float, ...]
    runtimes: Runtimes
    start_seconds: float


def world(rng: Generator, most_tasks: int) -> World:
    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(math.log(low), math.log(high))))

    tasks = round(between(1, most_tasks))
    names = list(WORKLOADS)
    runtimes = WORKLOADS[names[int(rng.integers(len(names)))]].draw(tasks, rng)
    runtimes *= between(0.2, 7200) / float(runtimes.mean())
    atu = ATUS[int(rng.integers(len(ATUS)))]
    speeds = tuple(between(1, 4) for _ in range(int(rng.integers(1, 4))))
    offerings = tuple(
        Offering(
            ClusterName(f"kind{k}"),
            Money(int(money("0.36") * speed * between(0.5, 2) * atu / 3600)),
            atu,
            int(rng.integers(1, 17)),
            minimum_seconds=float(rng.choice((0.0, 60.0))),
        )
        for k, speed in enumerate(speeds)
    )
    return World(offerings, speeds, runtimes, float(rng.choice((0.0, 5.0, 60.0, 300.0))))


def dominated(job: tuple[int, int]) -> tuple[int, int]:
    """Of so many worlds: the offers that another one dominates, and all that are shown."""
    seed, first = job
    found = shown = 0
    for number in range(first, first + AT_ONCE):
        rng = chance(seed, 15, 1, number)
        one = world(rng, 3000)
        mean = float(one.runtimes.mean())
        clusters = tuple(
            Cluster(offering, mean / speed, offering.max_machines, start_seconds=one.start_seconds)
            for offering, speed in zip(one.offerings, one.speeds, strict=True)
        )
        told = believable([_told(offer, rng) for offer in offers(clusters, len(one.runtimes))])
        shown += len(told)
        found += sum(
            other.cost <= offer.cost and other.makespan_seconds <= offer.makespan_seconds
            for offer in told
            for other in told
            if other is not offer
        )
    return found, shown


def _told(offer: Schedule, rng: Generator) -> Schedule:
    """As few runs ahead tell it: somewhere near, with bounds beyond."""
    time, price, later, dearer = np.exp(WAVERS * rng.standard_normal(4)).tolist()
    seconds, cost = offer.makespan_seconds * time, Money(round(offer.cost * price))
    longest = seconds * max(1.0, later) * 1.1
    most = Money(round(cost * max(1.0, dearer)))
    bounds = Bounds(0.9, longest, most, 0.9, 1.0, seconds, cost)
    return replace(offer, makespan_seconds=seconds, cost=cost, bounds=bounds)


@dataclass(frozen=True, slots=True)
class Story:
    machines: int
    idle: int  # charged, and given no task
    done: bool


def story(job: tuple[int, int]) -> Story:
    seed, number = job
    rng = chance(seed, 15, 2, number)
    one = world(rng, 300)
    if number >= SEVERAL:
        one = replace(one, offerings=tuple(_larger(offering, rng) for offering in one.offerings))
    work = min(
        float(one.runtimes.sum()) / speed * offering.price / offering.atu_seconds / offering.slots
        for offering, speed in zip(one.offerings, one.speeds, strict=True)
    )
    atus = max(offering.price for offering in one.offerings)
    budget = Money(int(work * rng.uniform(1.1, 3.0)) + 3 * atus) if number % 2 else None
    rule = "fastest" if budget else NAMES[int(rng.integers(len(NAMES)))]
    simulation = Simulation(
        Settings(len(one.runtimes), one.offerings, budget, rule=rule, seed=number),
        lambda task, cluster: float(one.runtimes[task]) / one.speeds[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: one.start_seconds),
        number,
        keep_events=True,
    )
    history = simulation.run()
    given = (command for commands in history.commands for command in commands)
    ran = {command.machine for command in given if isinstance(command, RunTasks)}
    idle = sum(machine not in ran for machine in history.uptimes)
    return Story(len(history.uptimes), idle, len(history.records) == len(one.runtimes))


def _larger(offering: Offering, rng: Generator) -> Offering:
    slots = 2 ** int(rng.integers(1, 5))
    return replace(offering, slots=slots, price=Money(offering.price * slots))


def purchases(report: Report, options: Options) -> None:
    worlds, stories = (500, 100) if options.quick else (WORLDS, STORIES)
    jobs = [(options.seed, first) for first in range(0, worlds, AT_ONCE)]
    found = run_all(dominated, jobs, options, "purchases-offers")
    shown, bad = sum(of for _, of in found), sum(bad for bad, _ in found)
    report.figure(f"offers shown in {worlds:,} random worlds", None, shown)
    report.bar("offers that another dominates", 0, bad, bad == 0)
    jobs = [(options.seed, first + k) for first in (0, SEVERAL) for k in range(stories)]
    told = run_all(story, jobs, options, "purchases")
    idle = _tell(report, told[:stories], "of one slot")
    report.bar("machines of one slot bought that ran nothing", 0, idle, idle == 0)
    idle = _tell(report, told[stories:], "of several slots")
    report.figure("machines of several slots bought that ran nothing", None, idle)


def _tell(report: Report, told: Sequence[Story], slots: str) -> int:
    """Give the number of machines that ran nothing."""
    what = f"{len(told):,} stories with machines {slots}"
    report.figure(f"machines of {what}", None, sum(one.machines for one in told))
    report.figure(f"done in full of {what}", None, sum(one.done for one in told))
    return sum(one.idle for one in told)


STUDIES = (
    Study("purchases", "is any offer dominated, any machine bought for nothing?", purchases),
)
