"""Rehearse, of this house: what comes next is run ahead with each number of machines.

Runtimes and the seconds of a boot are known. For every target tasks are put on machines as they
become ready and machines free, workflow by workflow in the order of arrival, breadth first. That
goes on for an interval after a machine hired now has booted. Chosen is the target with the least of

    `waiting` · Σ seconds until tasks begin + Σ seconds that machines idle,

the smallest of several. All tasks of the workflows present count, ready or not: if only ready ones
did, it would be best to begin none on which many wait. Machines that boot do not count as idle. A
task that waits weighs as much as three idle machines; that, and not counting boots, was chosen on
three draws of the thesis's workload 1. The study `scaling-own` holds it against the published
scalers on others.
"""

import heapq
import math
from collections.abc import Sequence
from typing import Final

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.scaling.scaler import ElasticView, in_order

WAITING: Final = 3.0
TRIED: Final = 64
"""Targets that are run ahead before the best of them is looked at closely."""

Ready = tuple[int, int, int]  # workflow in the order of arrival, breadth, task
_MACHINE: Final = -1  # comes free without a task: it has booted


class Rehearse:
    sees_tasks = True

    def __init__(self, waiting: float = WAITING) -> None:
        self._waiting = waiting

    def want(self, pool: ElasticView) -> Sequence[int]:
        stage = Rehearsal(pool, self._waiting)
        most = sum(kind.most for kind in pool.kinds)
        least = min(stage.kept, most)
        step = math.ceil((most - least + 1) / TRIED)
        losses = {target: stage.loss(target) for target in range(least, most + 1, step)}
        near = min(losses, key=lambda target: (losses[target], target))
        for target in range(max(least, near - step + 1), min(most, near + step - 1) + 1):
            losses.setdefault(target, stage.loss(target))
        return in_order(min(losses, key=lambda one: (losses[one], one)), pool.kinds)


class Rehearsal:
    """The next interval of a pool and a boot, as often as asked."""

    def __init__(self, pool: ElasticView, waiting: float) -> None:
        self._boot = boot = pool.boot_seconds
        self._lasts = pool.interval + boot
        self._waiting = waiting
        self._workflows: Sequence[Present] = pool.present
        machines = list(pool.machines())
        number = {one.number: k for k, one in enumerate(pool.present)}
        self._ends = [
            (until - pool.now, number[workflow.number], task)
            for _, workflow, task, until in pool.busy()
        ]
        self._ends += [
            (max(0.0, one.hired + boot - pool.now), _MACHINE, 0)
            for one in machines
            if not one.ready
        ]
        heapq.heapify(self._ends)
        self._ready: list[Ready] = sorted(
            (k, one.breadth(task), task)
            for k, one in enumerate(pool.present)
            for task in one.waiting_tasks()
        )
        self._not_begun = sum(one.unfinished - one.running for one in pool.present)
        self._idle = sum(one.idle_since is not None for one in machines)
        self.kept = len(machines) - self._idle  # that no target can take away

    def loss(self, target: int) -> float:
        """Weighed seconds of tasks that have not begun and of machines that idle."""
        not_begun = self._not_begun
        free = min(self._idle, target - self.kept)
        hired = max(0, target - self.kept - self._idle)
        ready, ends = self._ready.copy(), self._ends + [(self._boot, _MACHINE, 0)] * hired
        heapq.heapify(ends)
        waits: dict[tuple[int, int], int] = {}
        now = waited = idled = 0.0
        while now < self._lasts:
            while free and ready:
                k, _, task = heapq.heappop(ready)
                takes = self._workflows[k].workflow.estimates[task]
                heapq.heappush(ends, (now + takes, k, task))
                free -= 1
                not_begun -= 1
            until = min(ends[0][0], self._lasts) if ends else self._lasts
            waited += not_begun * (until - now)
            idled += free * (until - now)
            now = until
            while ends and ends[0][0] <= now:
                _, k, task = heapq.heappop(ends)
                free += 1
                if k != _MACHINE:
                    self._end(k, task, waits, ready)
        return self._waiting * waited + idled

    def _end(
        self, k: int, task: int, waits: dict[tuple[int, int], int], ready: list[Ready]
    ) -> None:
        one = self._workflows[k]
        for child in one.near.children[task]:
            left = waits.get((k, child), one.waits_for(child)) - 1
            waits[k, child] = left
            if not left:
                heapq.heappush(ready, (k, one.breadth(child), child))
