"""The timetable beside its stupid twin, which pays every machine on for every number of ATUs."""

import itertools
import math
import random
from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

from helpers.workbench import HOUR, MINUTE

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.timetable import Errand, Group, Residual, soonest

MARKETS = 150
ENDS = 20
"""So many ends are tried, evenly up to the one that was found."""


class Way(NamedTuple):
    """The work of one machine by the end, paid on for so many ATUs, and its price."""

    atus: int
    work: float
    cost: float  # with what its last tasks should take beyond the paid time


def ways(g: Group, end: float, waste: float, runtimes: list[float]) -> Iterator[Way]:
    """As the docstring of the module says it, for one slot."""
    atu, price, mean = g.offering.atu_seconds, g.offering.price, g.mean_seconds
    begun = max(1.0, (end - g.ready) / mean + waste) if end > g.ready else 0.0
    if g.offering.free:
        yield Way(0, begun, 0.0)
        return
    if g.fresh:
        yield Way(0, 0.0, 0.0)
    for k in range(g.first_atus if g.fresh else 0, max(1, math.ceil((end - g.paid) / atu)) + 1):
        leaves = g.paid + k * atu
        if leaves < end:
            lost = min(waste, atu / (2 * mean))
            work = max(0.0, (leaves - g.ready) / mean - lost)
            yield Way(k, work - (0.0 if k else g.unfit), k * price)
        else:
            early = max(0.0, (1 - waste) * mean - max(0.0, end - g.ready))
            tail = atus_beyond(leaves - end - early, atu, runtimes)
            yield Way(k, begun, (k + tail) * price)
            return


def atus_beyond(spare: float, atu: float, runtimes: list[float]) -> float:
    """The number of ATUs entered, on average, by what runs on beyond so many seconds."""
    chances = (
        fmean(max(0.0, x - max(0.0, spare + k * atu)) for x in runtimes) / fmean(runtimes)
        if spare + k * atu > 0
        else 1.0
        for k in itertools.count()
    )
    return sum(itertools.takewhile(lambda chance: chance > 0, chances))


def cheapest_by(end: float, groups: list[Group], errand: Errand, runtimes: list[float]) -> float:
    """The least cost of emptying the bag by this end; infinite if nothing does it."""
    each = [list(ways(g, end, errand.waste, runtimes)) for g in groups for _ in range(g.count)]
    owed = sum(g.count * g.owed for g in groups)
    return owed + min(
        (
            sum(way.cost for way in chosen)
            for chosen in itertools.product(*each)
            if sum(way.work for way in chosen) >= errand.tasks
        ),
        default=math.inf,
    )


def a_market(rng: random.Random) -> tuple[list[Group], Errand, list[float]]:
    """Up to four machines of two kinds, some of them there already, and three hours of work."""
    mean = rng.choice([5, 15, 40]) * MINUTE
    runtimes = [mean * rng.uniform(0.5, 1.5) for _ in range(20)]
    runtimes = [x * mean / fmean(runtimes) for x in runtimes]
    groups: list[Group] = []
    for k in (0, 1):
        kind = Offering(ClusterName(f"kind{k}"), money(rng.randint(1, 9)), HOUR, 9)
        slower = mean * rng.choice([1, 1, 2])
        if rng.random() < 0.7:
            ready = rng.uniform(0, 20) * MINUTE
            groups.append(Group(k, kind, 1, slower, ready, rng.uniform(10, 60) * MINUTE))
        if rng.random() < 0.7 or not groups:
            groups.append(Group(k, kind, 1, slower, 2 * MINUTE, 2 * MINUTE, fresh=True))
    tasks = rng.randint(2, round(3 * HOUR / mean))
    return groups, Errand(tasks, 0.5, Residual(runtimes)), runtimes


def test_the_timetable_can_be_paid_and_hardly_any_could_end_sooner() -> None:
    """The rest are bags of fewer tasks than machines, for which its steps are too coarse."""
    soonest_there_is = 0
    for seed in range(MARKETS):
        rng = random.Random(seed)
        groups, errand, runtimes = a_market(rng)
        hours = max(1.0, errand.tasks * groups[0].mean_seconds / HOUR)
        budget = Money(round(rng.uniform(0.5, 12) * hours * money(1)))
        found = soonest(groups, errand, budget)
        last = found.end if found else 7 * HOUR
        costs = [cheapest_by(last * n / ENDS, groups, errand, runtimes) for n in range(1, ENDS + 1)]
        if found is not None:
            assert costs.pop() <= budget * (1 + 1e-9), seed
        soonest_there_is += min(costs) > budget
    assert soonest_there_is >= 0.9 * MARKETS
