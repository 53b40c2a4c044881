"""The load that bags put on a pool, as scalers see it (`ElasticView`).

A scaler counts places, of which a machine has as many as slots; a task fills as many as it takes.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final

from bats.common.capacity.pool_rules import Pool
from bats.common.messages import BagId, TaskId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.brain.graphs.adjacency import Neighbours, neighbours
from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.placer import Busy
from bats.master.brain.pools.pool_machine import PoolMachine
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.scaling.scaler import Kind

_OFTEN: Final = 2000  # tasks; estimates of larger workflows are made anew more seldom
_MOST_PAIRS: Final = 200_000  # of tasks that a barrier parts; beyond, only ready tasks are shown
_ENDED: Final = (TaskState.DONE, TaskState.FAILED, TaskState.CUT_OFF)


@dataclass(frozen=True, slots=True)
class BagLoad:
    """One bag that may use the pool: its engine, and what of its tasks is the pool's affair."""

    bag: BagId
    engine: Engine
    began: float  # by the calendar
    running: int  # tasks on machines of the pool
    ready: int  # tasks that could start, and do not on other machines
    width: int  # places that a task fills


@dataclass(frozen=True, slots=True)
class _Place:
    number: int
    kind: int
    hired: float
    ready: bool
    idle_since: float | None


class LoadView:
    """A pool and its load at a moment, which may be looked at beside the loop."""

    def __init__(
        self,
        pool: StandingPool,
        loads: Sequence[BagLoad],
        present: Sequence[Present],
        busy: Sequence[Busy],
        ended: Sequence[int],
    ) -> None:
        rules = pool.rules
        self.now = pool.now
        self.interval = rules.interval_seconds
        self.budget = rules.per_interval
        self.boot_seconds = max((kind.boot_seconds for kind in pool.kinds), default=0.0)
        known = [one.engine.speeds() for one in loads]
        self.kinds = [_kind(rules, k, known) for k in range(len(rules.kinds))]
        self.demand = sum((one.running + one.ready) * one.width for one in loads)
        self.present = present
        self.ended = ended
        self._busy = busy
        self._places = list(_places(pool.alive()))
        self.supply = [
            sum(one.kind == kind for one in self._places) for kind in range(len(self.kinds))
        ]

    def machines(self) -> Iterator[_Place]:
        yield from self._places

    def busy(self) -> Iterator[Busy]:
        yield from self._busy

    def in_machines(self, places: Sequence[int]) -> tuple[int, ...]:
        """So many machines of each kind have these places."""
        return tuple(
            -(-max(0, int(count)) // self._slots[kind]) for kind, count in enumerate(places)
        )

    @property
    def _slots(self) -> list[int]:
        return [kind.slots for kind in self.kinds]


@dataclass(frozen=True, slots=True)
class _Kind(Kind):
    slots: int = 1


def _kind(rules: Pool, k: int, known: Sequence[Mapping[str, float]]) -> _Kind:
    """`known`: speeds that bags have seen; where none has, what the clouds file says."""
    offering = rules.kinds[k]
    most = min(offering.max_machines, rules.most) * offering.slots
    share = rules.interval_seconds / offering.atu_seconds / offering.slots
    seen = [one[offering.name] for one in known if offering.name in one]
    speed = fmean(seen) if seen else float(offering.settings.get("speed", 1.0))
    price = Money(math.ceil(offering.price * share - 1e-6))
    return _Kind(str(offering.name), most, price, speed, offering.slots)


def _places(machines: Iterable[PoolMachine]) -> Iterator[_Place]:
    for one in machines:
        if one.supplies:
            for _ in range(one.offering.slots):
                hired = one.requested_at if one.charged_since is None else one.charged_since
                yield _Place(one.id, one.cluster, hired, not one.boots, one.idle_since)


class Loads:
    """The workflows of bags as scalers see them, kept from look to look."""

    def __init__(self) -> None:
        self._known: dict[BagId, _Shown] = {}

    def view(
        self, pool: StandingPool, loads: Sequence[BagLoad], ended: Sequence[int], *, tasks: bool
    ) -> LoadView:
        """Without `tasks` only how many there are is shown: most scalers see no more."""
        if not tasks:
            return LoadView(pool, loads, (), (), ended)
        self._known = {one.bag: self._known.get(one.bag) or _Shown(one) for one in loads}
        most = pool.rules.most * max(kind.slots for kind in pool.rules.kinds)
        busy: list[Busy] = []
        for one in loads:
            shown = self._known[one.bag]
            shown.follow(one, 2 * most)
            busy += shown.busy(one, pool)
        present = [self._known[one.bag].present for one in sorted(loads, key=lambda o: o.began)]
        return LoadView(pool, loads, [one for one in present if not one.over], busy, ended)


class _Shown:
    """A bag as a workflow: all of its tasks if they wait for one another, else those to run."""

    def __init__(self, load: BagLoad) -> None:
        self._graph = _small(load.engine.settings.graph)
        self._near = neighbours(self._graph) if self._graph else None
        self._looks = 0
        self._begun: set[TaskId] = set()
        self._ended: set[TaskId] = set()
        self.present = Present(load.bag, Workflow(_alone(0), []), load.began)

    def follow(self, load: BagLoad, most: int) -> None:
        if self._graph is None or self._near is None:
            tasks = min(load.running + load.ready, most)
            each = load.engine.mean_runtime or 1.0
            self.present = Present(load.bag, Workflow(_alone(tasks), [each] * tasks), load.began)
            for task in range(min(load.running, tasks)):
                self.present.start(task, load.began)
            return
        ended = set(load.engine.tasks(*_ENDED))
        begun = ended | set(load.engine.tasks(TaskState.RUNNING))
        seldom = max(1, self._graph.tasks // _OFTEN)
        back = self._begun - begun or self._ended - ended
        if self._looks % seldom == 0 or back:
            seconds = load.engine.task_seconds(self._graph)
            self.present = Present(load.bag, Workflow(self._near, seconds), load.began)
            self._begun, self._ended = set(), set()
        self._looks += 1
        for task in map(TaskId, self._near.order):
            if task in begun and task not in self._begun:
                self.present.start(task, load.began)
            if task in ended and task not in self._ended:
                self.present.end(task)
        self._begun, self._ended = begun, ended

    def busy(self, load: BagLoad, pool: StandingPool) -> Iterator[Busy]:
        estimates, speeds = self.present.workflow.estimates, load.engine.speeds()
        here = [one for one in load.engine.running() if one.machine in pool.machines]
        for k, one in enumerate(here):
            task = int(one.task) if self._graph else k
            if task < len(estimates):
                speed = speeds.get(pool.machines[one.machine].offering.name, 1.0)
                until = load.began + one.since + estimates[task] / speed
                yield Busy(one.machine, self.present, task, max(until, pool.now))


def _small(graph: Graph | None) -> Graph | None:
    if graph is None:
        return None
    pairs = sum(graph.steps[a].tasks * graph.steps[b].tasks for a, b in graph.barriers)
    return graph if pairs <= _MOST_PAIRS else None


def _alone(tasks: int) -> Neighbours:
    none: list[tuple[int, ...]] = [()] * tasks
    return Neighbours(none, none, range(tasks))
