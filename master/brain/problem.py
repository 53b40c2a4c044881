"""The planning problem and its answer: a bag, what can be bought for it, and the mix that is."""

import math
from dataclasses import dataclass
from typing import Final

from bats.common import billing
from bats.common.money import NOTHING, Money
from bats.master.brain.mix import Cluster, Mix

TIE: Final = 1e-10
"""Speeds that differ relatively by less are equal. Price decides then, after it the count."""


@dataclass(frozen=True, slots=True)
class Problem:
    """N tasks to finish within B (and, if wanted, a deadline) on machines of these clusters."""

    clusters: tuple[Cluster, ...]
    tasks: float  # N
    budget: Money  # B
    deadline_seconds: float = math.inf

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
    """What a mix promises for this bag (T §2.2.2, eq. 2.2), each cluster billed by its own ATU."""
    speed = math.fsum(a * cluster.speed for a, cluster in zip(mix, clusters, strict=True))
    makespan = 0.0 if tasks <= 0 else tasks / speed if speed > 0 else math.inf
    cost = sum(
        a * billing.charge(cluster.offering, makespan)
        for a, cluster in zip(mix, clusters, strict=True)
        if a > 0 and not cluster.offering.free
    )
    return Plan(mix, speed, makespan, Money(cost), exact)


def all_machines(clusters: tuple[Cluster, ...], tasks: float) -> Plan:
    """The fastest plan there is: everything that can be had."""
    return plan_of(clusters, tasks, limits(clusters, tasks))


def nothing_to_do(clusters: tuple[Cluster, ...]) -> Plan:
    return Plan((0,) * len(clusters), 0.0, 0.0, NOTHING)
