"""Rehearse, of this house: what comes next is run ahead with each number of machines.

Runtimes and the seconds of a boot are known. For every target tasks are put on machines as they
become ready and machines free, workflow by workflow in the order of arrival, breadth first. From
the next look on there are as many machines as tasks run or may start. The rehearsal ends a boot
after the look that follows. Chosen is the target with the least of

    `waiting` · Σ seconds until tasks begin + Σ seconds that machines idle,

the smallest of several: a second of a task weighs as much as one of a machine. All tasks of the
workflows present count, ready or not: if only ready ones did, it would be best to begin none on
which many wait. Machines that boot do not count as idle. The page README.md beside this tells how
it does against the published scalers, and what it would have to know to do better.
"""

import heapq
import math
from collections.abc import Sequence
from typing import Final

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.scaling.scaler import ElasticView, in_order

WAITING: Final = 1.0
TRIED: Final = 64
"""Targets that are run ahead before the best of them is looked at closely."""

Ready = tuple[int, int, int]  # workflow in the order of arrival, breadth, task
_MACHINE: Final = -1  # comes free without a task: it has booted
_ARRIVES: Final = -1  # a workflow, instead of a task of it that ends


class Rehearse:
    sees_tasks = True

    def __init__(self, waiting: float = WAITING) -> None:
        self._waiting = waiting

    def want(self, pool: ElasticView) -> Sequence[int]:
        return in_order(best(Rehearsal(pool, self._waiting)), pool.kinds)


class Rehearsal:
    """Two intervals of a pool and a boot, as often as asked."""

    def __init__(self, pool: ElasticView, waiting: float, coming: Sequence[Present] = ()) -> None:
        """`coming` are workflows that will arrive, where somebody knows them."""
        self.interval = pool.interval
        self.boot = pool.boot_seconds
        self.lasts = 2 * pool.interval + self.boot
        self.workflows: Sequence[Present] = [*pool.present, *coming]
        self.most = sum(kind.most for kind in pool.kinds)
        machines = list(pool.machines())
        number = {one.number: k for k, one in enumerate(self.workflows)}
        self.ends = [
            (until - pool.now, number[workflow.number], task)
            for _, workflow, task, until in pool.busy()
        ]
        self.running = len(self.ends)
        boots = [max(0.0, one.hired + self.boot - pool.now) for one in machines if not one.ready]
        self.booting = len(boots)
        self.ends += [(at, _MACHINE, 0) for at in boots]
        self.ends += [(one.arrived - pool.now, number[one.number], _ARRIVES) for one in coming]
        self.ready: list[Ready] = sorted(
            (k, one.breadth(task), task)
            for k, one in enumerate(pool.present)
            for task in one.waiting_tasks()
        )
        self.not_begun = sum(one.unfinished - one.running for one in pool.present)
        self.idle = sum(one.idle_since is not None for one in machines)
        self.kept = len(machines) - self.idle  # that no target can take away
        self._waiting = waiting

    def loss(self, target: int) -> float:
        """Weighed seconds of tasks that have not begun and of machines that idle."""
        run = _Run(self, target)
        look = self.interval
        while run.now < self.lasts:
            run.begin()
            run.go_on(min(look, self.lasts))
            if run.now == look:
                run.scale()
                look += self.interval
        return self._waiting * run.waited + run.idled


class _Run:
    """One rehearsal, with one target."""

    def __init__(self, stage: Rehearsal, target: int) -> None:
        self._stage = stage
        hired = max(0, target - stage.kept - stage.idle)
        self._ready = stage.ready.copy()
        self._ends = stage.ends.copy()
        self._free = min(stage.idle, target - stage.kept)
        self._running = stage.running
        self._booting = stage.booting
        self._not_begun = stage.not_begun
        self._waits: dict[tuple[int, int], int] = {}
        self.now = self.waited = self.idled = 0.0
        heapq.heapify(self._ends)
        self._hire(hired)

    def begin(self) -> None:
        while self._free and self._ready:
            k, _, task = heapq.heappop(self._ready)
            takes = self._stage.workflows[k].workflow.estimates[task]
            heapq.heappush(self._ends, (self.now + takes, k, task))
            self._free -= 1
            self._running += 1
            self._not_begun -= 1

    def go_on(self, until: float) -> None:
        """To the next moment at which something happens, but no further than that."""
        if self._ends:
            until = min(until, self._ends[0][0])
        self.waited += self._not_begun * (until - self.now)
        self.idled += self._free * (until - self.now)
        self.now = until
        while self._ends and self._ends[0][0] <= until:
            _, k, task = heapq.heappop(self._ends)
            if k == _MACHINE:
                self._booting -= 1
                self._free += 1
            elif task == _ARRIVES:
                self._arrive(k)
            else:
                self._running -= 1
                self._free += 1
                self._end(k, task)

    def scale(self) -> None:
        """As many machines as tasks run or may start; those that boot stay."""
        short = len(self._ready) - self._free - self._booting
        self._free -= min(self._free, max(0, -short))
        room = self._stage.most - self._running - self._free - self._booting
        self._hire(max(0, min(short, room)))

    def _hire(self, machines: int) -> None:
        self._booting += machines
        for _ in range(machines):
            heapq.heappush(self._ends, (self.now + self._stage.boot, _MACHINE, 0))

    def _arrive(self, k: int) -> None:
        one = self._stage.workflows[k]
        self._not_begun += one.unfinished
        for task in one.waiting_tasks():
            heapq.heappush(self._ready, (k, one.breadth(task), task))

    def _end(self, k: int, task: int) -> None:
        one = self._stage.workflows[k]
        for child in one.near.children[task]:
            left = self._waits.get((k, child), one.waits_for(child)) - 1
            self._waits[k, child] = left
            if not left:
                heapq.heappush(self._ready, (k, one.breadth(child), child))


def best(stage: Rehearsal) -> int:
    """The target with the least loss; of very many not each is tried."""
    least = min(stage.kept, stage.most)
    step = math.ceil((stage.most - least + 1) / TRIED)
    losses = {target: stage.loss(target) for target in range(least, stage.most + 1, step)}
    near = min(losses, key=lambda target: (losses[target], target))
    for target in range(max(least, near - step + 1), min(stage.most, near + step - 1) + 1):
        losses.setdefault(target, stage.loss(target))
    return min(losses, key=lambda one: (losses[one], one))
