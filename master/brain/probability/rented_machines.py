"""A workflow run through machines that are rented: what a plan takes and costs, whole ATUs and all.

Many runs at a time, each with its own runtimes, drawn from the same numbers for whatever plan
(common random numbers): two plans differ by what they are, not by luck. Groups go by stages, the
tasks of a group by when they may start. Each goes to the place of its kind that is free first; of
several kinds to that which should end it first, by means. A machine is paid from its first task on,
ATU by ATU, until one ends that has no work; it is rented anew when it is needed again.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bats.common.billing import ROUNDING
from bats.common.records import dataclass
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.probability.histogram import Floats, Histogram
from bats.master.brain.probability.stages import Group, Order, Stage

Ints = NDArray[np.intp]

PARTS = 4
"""Of a group's places so many parts take new tasks in turn, those that are free first at first."""


@dataclass(frozen=True, slots=True)
class Rented:
    """A machine that is there already."""

    kind: int
    free_after: float  # seconds from now
    paid_until: float


@dataclass(frozen=True, slots=True)
class OnKind:
    """The machines of one kind that a group has."""

    kind: int
    machines: int


On = tuple[OnKind, ...]
"""The machines that a group has: of one kind, or of several."""

Chosen = Callable[[int, int], On]  # of a group of a stage, by their numbers


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The makespan and the cost of each run, in seconds and billionths."""

    seconds: Floats
    cost: Floats
    most: tuple[int, ...]  # machines of each kind that were ever used in a run

    def chance_of_cost(self, budget: float) -> float:
        return float((self.cost <= budget * (1 + 1e-9)).mean())

    def chance_of_seconds(self, limit: float) -> float:
        return float((self.seconds <= limit * (1 + 1e-9)).mean())


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """All that does not differ from plan to plan."""

    order: Order
    stages: Sequence[Stage]
    clusters: tuple[Cluster, ...]
    runtimes: Sequence[Sequence[Histogram]]  # of each step on each kind
    there: Sequence[Rented] = ()
    running: Sequence[tuple[int, float]] = ()  # tasks that run there, and their rest
    runs: int = 100
    seed: int = 0

    def outcomes(self, chosen: Chosen) -> Outcomes:
        running = dict(self.running)
        ends = np.zeros((len(self.order), self.runs))
        for task, rest in running.items():
            ends[task] = rest
        fleet = [_Machines(self, kind) for kind in range(len(self.clusters))]
        for number, stage in enumerate(self.stages):
            for place, group in enumerate(stage):
                tasks = [task for task in group.tasks if task not in running]
                ready = self._ready(tasks, ends)
                if group.step >= len(self.runtimes):
                    ends[tasks] = ready
                    continue
                on = chosen(number, place)
                numbers = self._numbers(group)[: len(tasks)]
                taken = shared(len(tasks), on, self.clusters, self.runtimes[group.step])
                in_turn = np.argsort(ready.mean(axis=1), kind="stable") if on[1:] else None
                for part, one in enumerate(on):
                    mine = slice(None) if in_turn is None else in_turn[taken == part]
                    took = self.runtimes[group.step][one.kind].at(numbers[mine])
                    its = np.asarray(tasks, dtype=np.intp)[mine]
                    ends[its] = fleet[one.kind].run(ready[mine], took, one.machines)
        cost = np.sum([one.cost for one in fleet], axis=0)
        most = tuple(one.most for one in fleet)
        return Outcomes(np.max(ends, axis=0, initial=0.0), cost, most)

    def _ready(self, tasks: Sequence[int], ends: Floats) -> Floats:
        """The end of the last that each task waits for; all or none of a stage wait."""
        waits = [self.order.parents[task] for task in tasks]
        if not waits or not waits[0]:
            return np.zeros((len(tasks), self.runs))
        starts = np.concatenate([[0], np.cumsum([len(ones) for ones in waits])[:-1]])
        before = [one for ones in waits for one in ones]
        latest: Floats = np.maximum.reduceat(ends[before], starts, axis=0)
        return latest

    def _numbers(self, group: Group) -> Floats:
        """The chances of its tasks: the same for every plan."""
        if self.runs == 1:
            return np.full((len(group), 1), 0.5)
        return np.random.default_rng((self.seed, group.tasks[0])).random((len(group), self.runs))


def shared(tasks: int, on: On, clusters: Sequence[Cluster], runtimes: Sequence[Histogram]) -> Ints:
    """Of each task, in turn, which part of its group's machines takes it.

    It is the part that should end it first, if all tasks of one part take as long as each other.
    """
    of_parts = []
    for one in on:
        places = max(1, one.machines * clusters[one.kind].offering.slots)
        of_parts.append((np.arange(tasks) // places + 1) * runtimes[one.kind].mean)
    parts = np.repeat(np.arange(len(on)), tasks)
    return parts[np.argsort(np.concatenate(of_parts), kind="stable")[:tasks]]


class _Machines:
    """Machines of one kind in all runs."""

    def __init__(self, world: World, kind: int) -> None:
        self._cluster = world.clusters[kind]
        offering = self._cluster.offering
        there = [one for one in world.there if one.kind == kind]
        self._slots = offering.slots
        machines = max(self._cluster.limit, len(there))
        shape = machines * self._slots, world.runs
        self._free = np.zeros(shape)
        self._paid = np.full((machines, world.runs), -np.inf)
        for number, one in enumerate(there):
            self._free[number * self._slots : (number + 1) * self._slots] = one.free_after
            self._paid[number] = one.paid_until
        self._atus = np.zeros(world.runs)
        self._runs = np.arange(world.runs)
        self.most = 0

    @property
    def cost(self) -> Floats:
        return self._atus * float(self._cluster.offering.price)

    def run(self, ready: Floats, took: Floats, machines: int) -> Floats:
        """The ends of tasks that are ready then and take so long, on the first so many machines."""
        if not len(ready):
            return ready
        places = min(machines * self._slots, len(self._free))
        self.most = max(self.most, min(machines, -(-len(ready) // self._slots)))
        ends = np.empty_like(ready)
        rank = np.argsort(ready.mean(axis=1), kind="stable")
        at_once = len(ready) if len(ready) <= places else max(1, places // PARTS)
        for first in range(0, len(ready), at_once):
            tasks = rank[first : first + at_once]
            # A place that is free before the task is ready is as good as any such: the first goes.
            begin = np.maximum(self._free[:places], ready[tasks].min(axis=0))
            order = np.argsort(begin, axis=0, kind="stable")[: len(tasks)]
            ends[tasks] = self._rent(order, ready[tasks], took[tasks])
        return ends

    def _rent(self, places: Ints, ready: Floats, took: Floats) -> Floats:
        starts = np.maximum(np.take_along_axis(self._free, places, axis=0), ready)
        rows = [slice(None)] if self._slots == 1 else [slice(k, k + 1) for k in range(len(places))]
        for row in rows:  # two places of one machine are not paid at once
            self._pay(places[row] // self._slots, starts[row], took[row])
        ends = starts + took
        np.put_along_axis(self._free, places, ends, axis=0)
        return ends

    def _pay(self, machines: Ints, starts: Floats, took: Floats) -> None:
        """Buy what the work needs; `starts` are put off by the start of machines that are new."""
        offering = self._cluster.offering
        paid = np.take_along_axis(self._paid, machines, axis=0)
        fresh = paid < starts
        starts += np.where(fresh, self._cluster.start_seconds, 0.0)
        since = np.where(fresh, starts - self._cluster.boot_seconds, paid)
        lacks = starts + took + offering.boundary_seconds - since
        lacks = np.where(fresh, np.maximum(lacks, offering.minimum_seconds), lacks)
        atus = np.ceil(np.maximum(lacks, 0.0) / offering.atu_seconds * (1 - ROUNDING))
        self._atus += atus.sum(axis=0)
        until = since + atus * offering.atu_seconds
        np.put_along_axis(self._paid, machines, until, axis=0)
