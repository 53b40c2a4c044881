"""Bags side by side: is each budget and each cap kept, does any starve, is what is shared fair?

Ten bags of two users come within ten minutes, with and without budgets, of tasks of several sizes,
on rented machines that fail, on free ones and on workers started by hand, under three caps. Pairs
of bags without money tell what sharing costs.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean

from figures import Report

from bats.common.billing import charge
from bats.common.messages import BagId, TaskId
from bats.common.money import NOTHING, Money, money
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.household.cap import Cap, Period
from bats.master.brain.household.household import Household
from bats.master.brain.household.sharing import SHARINGS
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions
from bats.master.simulate.together import StartedByHand, Submission, Together

from .study import Options, Study, run_all

BAGS = 10
MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
DAY = 86_400.0
BY_HAND = Offering(ClusterName("desk"), NOTHING, 3600.0, 0, backend=MANUAL)
RENTED = Offering(ClusterName("rented"), money("0.06"), 60.0, 8)
HOURLY = Offering(ClusterName("hourly"), money("0.31"), 3600.0, 3, 2)
FREE = Offering(ClusterName("lab"), NOTHING, 3600.0, 1)
CRUEL = Conditions(
    boot_seconds=7.0,
    life_seconds=lambda rng, _: rng.expovariate(1 / 900),
    start_seconds=lambda rng, _: rng.uniform(0, 40),
    start_fails=0.05,
)
SIZES = ((1, 0, 0), (1, 0, 0), (2, 0, 0), (1, 6 << 30, 0), (1, 0, 1))  # CPUs, memory, GPUs

Job = tuple[str, int]


@dataclass(frozen=True, slots=True)
class World:
    """The outcome of ten bags: how many of what was to be kept was not."""

    ended: int
    free: int  # bags that can do without money, of which each must end
    free_ended: int
    caps_passed: int
    budgets_passed: int
    journals_differ: int


def runtimes(mean: float, seed: int) -> Callable[[TaskId, int], float]:
    return lambda task, _: mean * random.Random(seed + task).lognormvariate(0, 0.5)


def submissions(rng: random.Random) -> list[Submission]:
    def one(k: int) -> Submission:
        cpus, memory, gpus = rng.choice(SIZES)
        shared = cpus > 1 or memory or gpus
        several = [(RENTED,), (HOURLY, RENTED), (FREE, RENTED), (BY_HAND, RENTED)]
        return Submission(
            Settings(
                rng.randint(1, 60),
                (BY_HAND,) if shared else rng.choice(several),
                rng.choice([None, money(rng.randint(1, 9))]),
                task_slots=cpus,
                task_memory=memory,
                task_gpus=gpus,
                seed=k,
            ),
            runtimes(rng.choice([1.0, 30.0, 200.0]), rng.randrange(10**6)),
            rng.uniform(0, 600),
            rng.choice(["ann", "bob"]),
            rng.choice([1.0, 2.0]),
            rng.randint(0, 2),
            rng.choice([CRUEL, Conditions()]),
        )

    return [one(k) for k in range(BAGS)]


def ten_bags(job: Job) -> World:
    sharing, seed = job
    rng = random.Random(seed)
    bags = submissions(rng)
    caps = (
        Cap(money(rng.randint(2, 9)), Period.DAY),
        Cap(money(rng.randint(1, 6)), Period.DAY, "ann"),
        Cap(money(30)),
    )
    machines = [StartedByHand(4, rng.uniform(0, 20), 16 << 30, 2), StartedByHand(2)]
    epoch = MIDNIGHT - rng.uniform(0, 900)
    world = Together(
        bags, machines, sharing, seed=seed, keep_events=True, caps=caps, epoch=epoch
    )  # fmt: skip
    world.run(until=3 * DAY)
    ended = {bag for bag, one in world.bags.items() if one.engine.over}
    free = {
        bag
        for bag in world.bags
        if any(one.free for one in bags[bag - 1].settings.offerings)
    }  # fmt: skip
    return World(
        len(ended),
        len(free),
        len(free & ended),
        sum(_passed(world, bags, cap) for cap in caps),
        sum(_over_budget(world, bags, bag) for bag in world.bags),
        sum(_differs(world, bags, bag) for bag in world.bags) + _household_differs(world, sharing),
    )


def _spent(world: Together, bags: list[Submission], cap: Cap) -> dict[int, Money]:
    """The price of ATUs by the day in which each began, of those that the cap is for."""
    days: dict[int, Money] = {}
    for bag, one in world.bags.items():
        if not cap.holds(bags[bag - 1].user, one.settings.currency):
            continue
        for cluster, since, left in one.history.uptimes.values():
            offering = one.settings.offerings[cluster]
            count = 0 if offering.free else charge(offering, left - since) // offering.price
            for k in range(count):
                at = world.epoch + one.began + since + k * offering.atu_seconds
                day = 0 if cap.period is Period.EVER else int((at - MIDNIGHT) // DAY) + 1
                days[day] = Money(days.get(day, NOTHING) + offering.price)
    return days


def _passed(world: Together, bags: list[Submission], cap: Cap) -> int:
    return sum(amount > cap.amount for amount in _spent(world, bags, cap).values())


def _over_budget(world: Together, bags: list[Submission], bag: BagId) -> bool:
    budget = bags[bag - 1].settings.budget
    return budget is not None and world.bags[bag].engine.committed > budget


def _differs(world: Together, bags: list[Submission], bag: BagId) -> bool:
    """Its journal, replayed alone, gives other commands."""
    one = world.bags[bag]
    again = Engine(one.settings, bags[bag - 1].runtimes)
    return [again.handle(event, now) for now, event in one.history.events] != one.history.commands


def _household_differs(world: Together, sharing: str) -> bool:
    household = Household(sharing)
    return [household.handle(notice, now) for now, notice in world.notices] != world.answers


# --- pairs ----------------------------------------------------------------------------------------


def by_hand(tasks: int, at: float = 0.0, weight: float = 1.0) -> Submission:
    return Submission(Settings(tasks, (BY_HAND,)), lambda _task, _: 1.0, at, weight=weight)


def ends(*bags: Submission, slots: int = 4) -> list[float]:
    """When each ends, of those on workers of so many and three slots."""
    world = Together(bags, [StartedByHand(slots), StartedByHand(3)])
    world.run()
    return [one.began + (one.history.ended_at or 0.0) for one in world.bags.values()]


def pair() -> float:
    """The makespan of two bags beside each other, as a multiple of one with all their tasks."""
    return max(ends(by_hand(2_000), by_hand(2_000))) / ends(by_hand(4_000))[0]


def short_beside_long(long: int) -> float:
    """The time of 20 tasks beside so many, less one task of those, by their time alone."""
    at = 10.3
    _, short = ends(by_hand(long), by_hand(20, at))
    return (short - at - 1.0) / ends(by_hand(20))[0]


def ratio(slots: int) -> float:
    """The slot time of a bag of weight 2 by that of one of weight 1, while both have work."""
    bags = [by_hand(4_000, weight=2.0), by_hand(4_000)]
    world = Together(bags, [StartedByHand(slots)])
    world.run(until=2_000 / slots)
    return world.slot_seconds[BagId(1)] / world.slot_seconds[BagId(2)]


def study(report: Report, options: Options) -> None:
    seeds = options.seeds(200, 3)
    jobs = [(sharing, seed) for seed in seeds for sharing in SHARINGS]
    found = run_all(ten_bags, jobs, options, "ten bags")
    for sharing in SHARINGS:
        worlds = [one for (name, _), one in zip(jobs, found, strict=True) if name == sharing]
        ended = fmean(one.ended for one in worlds)
        report.figure(f"{sharing}: bags of ten that ended within three days", None, ended)
        for what in ("caps_passed", "budgets_passed", "journals_differ"):
            count = sum(getattr(one, what) for one in worlds)
            words = what.replace("_", " ")
            report.bar(f"{sharing}, {len(worlds)} worlds: {words}", 0, count, count == 0)
        left = sum(one.free - one.free_ended for one in worlds)
        report.bar(f"{sharing}: bags with free machines that did not end", 0, left, left == 0)
    together = pair()
    report.bar("pair by one bag of all tasks", 1.05, together, together <= 1.05)
    long = 10_000 if options.quick else 100_000
    short = short_beside_long(long)
    report.bar(f"20 tasks beside {long:,}, by alone", 2.2, short, short <= 2.2)
    for slots in (1, 2, 4, 7):
        twice = ratio(slots)
        report.bar(f"weights 2:1 on {slots} slots", 2.0, twice, abs(twice - 2) <= 0.1)


STUDIES = (
    Study("side-by-side", "bags at once: caps, budgets, fairness, what sharing costs", study),
)
