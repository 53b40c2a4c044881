"""SCF, Scaling First (§5.3.2; after Mao and Humphrey): machines for a plan without limits, scaled.

With machines without end each task would run on the kind that is fastest for it as soon as its
parents have ended. Of that plan of an interval follow n_i = ⌈Σ planned seconds on kind i / Δt⌉
machines. All n_i are multiplied with budget / cost, which may be more than one, and rounded down;
the rest is spent in turn on the kinds planned. Then the interval is planned with the machines that
there are (`planned_tasks`), workflows in the order of priority. Idle machines without a task are
released.

Generations of a workflow are gone through as arrays: that takes a tenth of the time that going from
event to event does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from bats.common.money import Money
from bats.master.brain.arrays import np
from bats.master.brain.graphs.adjacency import Neighbours
from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.scaling.budgets.planned_tasks import (
    PlannedTasks,
    Planning,
    by_priority,
)
from bats.master.brain.scaling.scaler import ElasticView


class SCF(PlannedTasks):
    def __init__(self) -> None:
        super().__init__()
        self._known: dict[int, _Unlimited] = {}  # by number of workflow

    def want(self, pool: ElasticView) -> Sequence[int]:
        if pool.budget is None:
            raise ValueError("SCF spends a budget, and this pool has none")
        numbers = [math.ceil(one / pool.interval) for one in self.seconds(pool)]
        return scaled(numbers, [kind.price for kind in pool.kinds], pool.budget)

    def seconds(self, pool: ElasticView) -> list[float]:
        """The seconds on each kind of all tasks that would run within the interval."""
        seconds = [0.0] * len(pool.kinds)
        kind_of = {one.number: one.kind for one in pool.machines()}
        running: dict[int, dict[int, float]] = {}
        for place, workflow, task, until in pool.busy():
            left = until - pool.now
            running.setdefault(workflow.number, {})[task] = left
            seconds[kind_of[place]] += min(left, pool.interval)
        known, self._known = self._known, {}
        for one in pool.present:
            way = known.get(one.number) or _Unlimited(pool, one)
            self._known[one.number] = way
            own = way.seconds(one, running.get(one.number, {}), pool.interval)
            for kind, planned in enumerate(own):
                seconds[kind] += float(planned)
        return seconds

    def plan(self, pool: ElasticView) -> Collection[int]:
        plan = Planning(pool)
        plan.put_all(by_priority(pool))
        return self.carry_out(plan)


def scaled(numbers: Sequence[int], prices: Sequence[Money], budget: Money) -> list[int]:
    """As many times the machines as the budget pays for."""
    cost = sum(q * n for q, n in zip(prices, numbers, strict=True))
    if not cost:
        return list(numbers)
    bought = [n * budget // cost for n in numbers]
    left = budget - sum(q * n for q, n in zip(prices, bought, strict=True))
    wanted = [kind for kind, n in enumerate(numbers) if n]
    while any(prices[kind] <= left for kind in wanted):
        for kind in wanted:
            if prices[kind] <= left:
                bought[kind] += 1
                left -= prices[kind]
    return bought


class _Unlimited:
    """A workflow with machines without end: each task begins when its last parent has ended."""

    def __init__(self, pool: ElasticView, one: Present) -> None:
        near = one.near
        depth = [0] * len(near)
        for task in near.order:
            depth[task] = 1 + max((depth[parent] for parent in near.parents[task]), default=-1)
        generations: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
        for task in near.order:
            generations[depth[task]].append(task)
        self._roots = np.array(generations[0] if generations else [], dtype=np.int64)
        self._later = [_generation(near, tasks) for tasks in generations[1:]]
        tasks = range(len(near))
        by_price = sorted(range(len(pool.kinds)), key=lambda kind: pool.kinds[kind].price)
        takes = np.array(
            [
                [one.workflow.estimate(task, kind, pool.kinds[kind].speed) for task in tasks]
                for kind in by_price
            ]
        )
        best = takes.argmin(axis=0)  # of those alike the cheapest
        self._kinds = np.array(by_price)[best]
        self._takes = takes[best, np.arange(len(near))]

    def seconds(self, one: Present, running: Mapping[int, float], interval: float) -> np.ndarray:
        """The seconds within the interval of all tasks that would begin in it, by kind."""
        begins = np.full(len(one.near), np.inf)
        ends = np.zeros(len(one.near))
        for task, left in running.items():
            ends[task] = left
        waits = np.zeros(len(one.near), dtype=bool)
        waits[one.left()] = True
        roots = self._roots[waits[self._roots]]
        begins[roots], ends[roots] = 0.0, self._takes[roots]
        for tasks, parents, starts in self._later:
            ready = np.maximum.reduceat(ends[parents], starts)
            left = waits[tasks]
            mine = tasks[left]
            begins[mine] = ready[left]
            ends[mine] = begins[mine] + self._takes[mine]
        within = begins < interval
        planned = np.minimum(self._takes[within], interval - begins[within])
        return np.bincount(self._kinds[within], weights=planned, minlength=self._kinds.max() + 1)


def _generation(near: Neighbours, tasks: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tasks, the parents of all of them in a row, and where those of each begin."""
    flat = [parent for task in tasks for parent in near.parents[task]]
    starts = np.cumsum([0, *(len(near.parents[task]) for task in tasks[:-1])])
    return np.array(tasks), np.array(flat), starts
