"""The planning problem and its answer: a bag, what can be bought for it, and the mix that is."""

import math
from typing import Final

from bats.common import billing
from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.planning.mix import Cluster, Mix

TIE: Final = 1e-10
"""Speeds that differ relatively by less are equal. Price decides then, after it the count."""


BySteps = tuple[tuple[tuple[int, int], ...], ...]
"""Of each step of a workflow the kinds of machines that it has, and how many of each."""


@dataclass(frozen=True, slots=True)
class Problem:
    """N tasks to finish within B (and, if wanted, a deadline) on machines of these clusters."""

    clusters: tuple[Cluster, ...]
    tasks: float  # N
    budget: Money  # B
    deadline_seconds: float = math.inf
    known_seconds: float = 0.0  # no affordable mix is faster than this, as is known already

    def in_time(self, makespan_seconds: float) -> bool:
        return makespan_seconds <= self.deadline_seconds * (1 + billing.ROUNDING)


@dataclass(frozen=True, slots=True)
class Plan:
    """A mix with the paper's estimates: Te = N/S and Be, what the mix costs for so long."""

    mix: Mix
    speed: float  # S: tasks per second
    makespan_seconds: float  # Te
    cost: Money  # Be
    exact: bool = True  # False: prices were rounded up to keep the search small
    by_step: BySteps = ()

    @property
    def machines(self) -> int:
        return sum(self.mix)


def limits(clusters: tuple[Cluster, ...], tasks: float) -> Mix:
    """A_i, but never more machines of a cluster than the bag could keep busy."""
    return tuple(
        min(cluster.limit, math.ceil(tasks / cluster.offering.slots)) if cluster.speed > 0 else 0
        for cluster in clusters
    )


def plan_of(clusters: tuple[Cluster, ...], tasks: float, mix: Mix, *, exact: bool = True) -> Plan:
    """The promise of a mix for this bag (T §2.2.2, eq. 2.2), each cluster billed by its own ATU."""
    speed = math.fsum(a * cluster.speed for a, cluster in zip(mix, clusters, strict=True))
    makespan = 0.0 if tasks <= 0 else tasks / speed if speed > 0 else math.inf
    cost = sum(
        a * billing.charge_to_work(cluster.offering, makespan)
        for a, cluster in zip(mix, clusters, strict=True)
        if a > 0 and not cluster.offering.free
    )
    return Plan(mix, speed, makespan, Money(cost), exact)


def all_machines(clusters: tuple[Cluster, ...], tasks: float) -> Plan:
    """The fastest plan there is: everything that can be had."""
    return plan_of(clusters, tasks, limits(clusters, tasks))


def least_cost(problem: Problem) -> int:
    """No mix costs less, even one whose paid time is used to the last second."""
    per_task = min(
        (
            cluster.offering.price / cluster.offering.atu_seconds / cluster.speed
            for cluster in problem.clusters
            if cluster.speed > 0 and cluster.limit > 0 and not cluster.offering.free
        ),
        default=0.0,
    )
    for_free = sum(
        cluster.limit * cluster.speed for cluster in problem.clusters if cluster.offering.free
    )
    free_tasks = for_free * problem.deadline_seconds if for_free else 0.0
    return math.floor(max(0.0, problem.tasks - free_tasks) * per_task * (1 - billing.ROUNDING))


def lowest_budget(clusters: tuple[Cluster, ...], tasks: float) -> Money:
    """Bmin: the rest of the bag on one machine of the type that does it for the least.

    That is the most profitable type, unless the bag is so small that most of its ATU is wasted.
    """
    return min(
        (
            NOTHING if c.offering.free else billing.charge_to_work(c.offering, tasks / c.speed)
            for c, limit in zip(clusters, limits(clusters, tasks), strict=True)
            if limit > 0
        ),
        default=NOTHING,
    )


def nothing_to_do(clusters: tuple[Cluster, ...]) -> Plan:
    return Plan((0,) * len(clusters), 0.0, 0.0, NOTHING)
