"""Choices of machines for groups and stages of a workflow, by what they take and, roughly, cost."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from bats.common.billing import ROUNDING
from bats.common.records import dataclass
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.probability.assignment import Choice, Meaning, undominated
from bats.master.brain.probability.histogram import (
    Floats,
    Histogram,
    constant,
    maximum,
    maximum_of,
)
from bats.master.brain.probability.rented_machines import OnKind
from bats.master.brain.probability.stages import Group, Stage

OnKinds = tuple[OnKind, ...]  # of each group of a stage
Assigned = tuple[OnKinds, ...]  # of each stage

MOST_CHOICES: Final = 24  # of one stage
NOWHERE: Final = OnKind(0, 0)  # of barriers


@dataclass(frozen=True, slots=True)
class Rough:
    """A plan, and what it comes to if each stage takes its mean and waits for all of the last."""

    on: Assigned
    seconds: float
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class _OfGroup:
    on: OnKind
    seconds: Histogram
    busy: float  # seconds that each machine has work
    work: float  # what its machines cost if they are paid for nothing else
    over: float  # what whole ATUs may leave over


class OfGroups:
    def __init__(
        self, clusters: tuple[Cluster, ...], runtimes: Sequence[Sequence[Histogram]]
    ) -> None:
        self._clusters = clusters
        self._runtimes = runtimes
        self._known: dict[tuple[int, int, OnKind], _OfGroup] = {}

    def of_stage(self, stage: Stage, most: int | None = None) -> list[Choice[OnKinds]]:
        """Groups at once: the longest counts, costs add up.

        `most` is the number of machines of each kind, whose time is then paid whether it is used or
        not; without it a group has any number, and pays for what its whole ATUs leave over.
        """
        parts: list[Choice[tuple[Histogram, OnKinds]]] = [Choice(0.0, 0.0, (constant(0.0), ()))]
        for group in stage:
            if group.step >= len(self._runtimes):
                parts = [p._replace(means=(p.means[0], (*p.means[1], NOWHERE))) for p in parts]
                continue
            joined = []
            for part, one in product(parts, self._of_group(group, most)):
                longest = maximum(part.means[0], one.means.seconds)
                on = *part.means[1], one.means.on
                joined.append(Choice(longest.mean, part.weight + one.weight, (longest, on)))
            parts = _thinned(undominated(joined))
        return [Choice(part.value, part.weight, part.means[1]) for part in parts]

    def rough(self, stages: Sequence[Stage], on: Assigned) -> Rough:
        """The time and price of an assignment, its machines kept from stage to stage."""
        now = cost = 0.0
        paid = [np.full(cluster.limit, -math.inf) for cluster in self._clusters]  # until when
        for stage, chosen in zip(stages, on, strict=True):
            takes = constant(0.0)
            used = [(0, 0.0)] * len(self._clusters)  # machines, and the seconds that each has work
            for group, one in zip(stage, chosen, strict=True):
                if one is not NOWHERE:
                    known = self._one(group, one)
                    takes = maximum(takes, known.seconds)
                    machines, busy = used[one.kind]
                    need = min(
                        one.machines, -(-len(group) // self._clusters[one.kind].offering.slots)
                    )
                    used[one.kind] = machines + need, max(busy, known.busy)
            for (machines, busy), until, cluster in zip(used, paid, self._clusters, strict=True):
                if machines:
                    cost += _rented(cluster, until[:machines], now, now + busy)
            now += takes.mean
        return Rough(on, now, cost)

    def _of_group(self, group: Group, most: int | None) -> list[Choice[_OfGroup]]:
        found = []
        for kind, cluster in enumerate(self._clusters):
            useful = min(cluster.limit, -(-len(group) // cluster.offering.slots))
            for machines in numbers(useful) if most is None else [min(useful, most)] * (useful > 0):
                one = self._one(group, OnKind(kind, machines))
                cost = one.work + (one.over if most is None else 0.0)
                found.append(Choice(one.seconds.mean, cost, one))
        return _thinned(undominated(found))

    def _one(self, group: Group, on: OnKind) -> _OfGroup:
        key = group.step, len(group), on
        if key not in self._known:
            self._known[key] = self._computed(group, on)
        return self._known[key]

    def _computed(self, group: Group, on: OnKind) -> _OfGroup:
        offering = self._clusters[on.kind].offering
        seconds = self._runtimes[group.step][on.kind]
        tasks, places = len(group), on.machines * offering.slots
        if tasks <= places:
            takes = maximum_of(seconds, tasks)
        else:
            # Places are busy until the last task begins; then as many run as there are places.
            # Where tasks hardly vary they come in whole rounds.
            rounds = (tasks - places) / places
            alike = max(0.0, 1 - 3 * seconds.deviation / max(seconds.mean, 1e-300))
            rounds += (math.ceil(rounds) - rounds) * alike
            takes = maximum_of(seconds, places).shifted(rounds * seconds.mean)
        work = tasks * seconds.mean / offering.slots  # seconds of machines
        idle = max(0.0, takes.mean - work / on.machines)
        rate = float(offering.price) / offering.atu_seconds
        over = on.machines * min(idle, offering.atu_seconds / 2)
        return _OfGroup(on, takes, work / on.machines, rate * work, rate * over)


def _rented(cluster: Cluster, paid: Floats, now: float, until: float) -> float:
    """The price of machines from now until then beyond what is paid of each, which it takes in."""
    atu = cluster.offering.atu_seconds
    since = np.where(paid < now, now - cluster.boot_seconds, paid)
    atus = np.ceil(np.maximum(until - since, 0.0) / atu * (1 - ROUNDING))
    paid[:] = since + atus * atu
    return float(atus.sum()) * float(cluster.offering.price)


def numbers(most: int) -> list[int]:
    """Numbers of machines to look at, each half as much again as the one before."""
    found: list[int] = []
    number = 1
    while number < most:
        found.append(number)
        number = max(number + 1, number * 3 // 2)
    return [*found, most] if most > 0 else []


def _thinned(choices: Sequence[Choice[Meaning]]) -> list[Choice[Meaning]]:
    """So many of them at most, spread over their weights."""
    if len(choices) <= MOST_CHOICES:
        return list(choices)
    places = np.linspace(0, len(choices) - 1, MOST_CHOICES).round().astype(int)
    return [choices[place] for place in sorted(set(places.tolist()))]
