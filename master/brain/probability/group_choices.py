"""Choices of machines for groups and stages of a workflow, by what they take and, roughly, cost."""

import math
from collections.abc import Sequence
from functools import reduce
from itertools import combinations, product
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
from bats.master.brain.probability.rented_machines import On, OnKind, shared
from bats.master.brain.probability.stages import Group, Stage

OfStage = tuple[On, ...]  # of each group of a stage
Assigned = tuple[OfStage, ...]  # of each stage

MOST_CHOICES: Final = 24  # of one stage
NOWHERE: Final[On] = ()  # of barriers


@dataclass(frozen=True, slots=True)
class Rough:
    """A plan, and what it comes to if each stage takes its mean and waits for all of the last."""

    on: Assigned
    seconds: float
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class _OfKind:
    """Tasks of a group that have machines of one kind."""

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
        self._known: dict[tuple[int, int, OnKind], _OfKind] = {}
        self._counts: dict[tuple[int, int, On], list[int]] = {}

    def of_stage(self, stage: Stage, most: int | None = None) -> list[Choice[OfStage]]:
        """Groups at once: the longest counts, costs add up.

        `most` is the number of machines of each kind, whose time is then paid whether it is used or
        not; without it a group has any number, and pays for what its whole ATUs leave over.
        """
        parts: list[Choice[tuple[Histogram, OfStage]]] = [Choice(0.0, 0.0, (constant(0.0), ()))]
        for group in stage:
            if group.step >= len(self._runtimes):
                parts = [p._replace(means=(p.means[0], (*p.means[1], NOWHERE))) for p in parts]
                continue
            joined = []
            for part, one in product(parts, self._of_group(group, most)):
                longest = maximum(part.means[0], one.means[0])
                on = *part.means[1], one.means[1]
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
            for group, on_kinds in zip(stage, chosen, strict=True):
                for one, tasks in self._parts(group, on_kinds):
                    known = self._one(group.step, tasks, one)
                    takes = maximum(takes, known.seconds)
                    machines, busy = used[one.kind]
                    need = min(one.machines, -(-tasks // self._clusters[one.kind].offering.slots))
                    used[one.kind] = machines + need, max(busy, known.busy)
            for (machines, busy), until, cluster in zip(used, paid, self._clusters, strict=True):
                if machines:
                    cost += _rented(cluster, until[:machines], now, now + busy)
            now += takes.mean
        return Rough(on, now, cost)

    def _of_group(self, group: Group, most: int | None) -> list[Choice[tuple[Histogram, On]]]:
        alone = []
        for kind, cluster in enumerate(self._clusters):
            useful = min(cluster.limit, -(-len(group) // cluster.offering.slots))
            numbered = numbers(useful) if most is None else [min(useful, most)] * (useful > 0)
            alone.append([OnKind(kind, machines) for machines in numbered])
        ons: list[On] = [(one,) for of_kind in alone for one in of_kind]
        if any(len(group) > c.limit * c.offering.slots for c in self._clusters):
            ons += self._of_several(group, alone)
        found = []
        for on in ons:
            parts = [self._one(group.step, tasks, one) for one, tasks in self._parts(group, on)]
            longest = max(part.seconds.mean for part in parts)
            cost = sum(part.work + (part.over if most is None else 0.0) for part in parts)
            found.append(Choice(longest, cost, on))
        return [self._joined(group, one) for one in _thinned(undominated(found))]

    def _of_several(self, group: Group, alone: Sequence[Sequence[OnKind]]) -> list[On]:
        """Of two kinds any numbers, and the most of all kinds: for more tasks than a kind holds."""
        mean = [of_kind.mean for of_kind in self._runtimes[group.step]]
        most = tuple(of_kind[-1] for of_kind in alone if of_kind)
        pairs = [on for one, other in combinations(alone, 2) for on in product(one, other)]
        ons: list[On] = [*pairs, *([most] if most[2:] else [])]
        return [tuple(sorted(on, key=lambda one: mean[one.kind])) for on in ons]

    def _joined(self, group: Group, choice: Choice[On]) -> Choice[tuple[Histogram, On]]:
        parts = [
            self._one(group.step, n, one).seconds for one, n in self._parts(group, choice.means)
        ]
        longest = reduce(maximum, parts)
        return Choice(longest.mean, choice.weight, (longest, choice.means))

    def _parts(self, group: Group, on: On) -> list[tuple[OnKind, int]]:
        """The tasks that each kind takes."""
        if not on[1:]:
            return [(one, len(group)) for one in on]
        key = group.step, len(group), on
        if key not in self._counts:
            taken = shared(len(group), on, self._clusters, self._runtimes[group.step])
            self._counts[key] = np.bincount(taken, minlength=len(on)).tolist()
        return [(one, tasks) for one, tasks in zip(on, self._counts[key], strict=True) if tasks]

    def _one(self, step: int, tasks: int, on: OnKind) -> _OfKind:
        key = step, tasks, on
        if key not in self._known:
            self._known[key] = self._computed(step, tasks, on)
        return self._known[key]

    def _computed(self, step: int, tasks: int, on: OnKind) -> _OfKind:
        offering = self._clusters[on.kind].offering
        seconds = self._runtimes[step][on.kind]
        places = on.machines * offering.slots
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
        return _OfKind(takes, work / on.machines, rate * work, rate * over)


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
