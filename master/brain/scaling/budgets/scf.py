"""SCF, Scaling First (§5.3.2; after Mao and Humphrey): machines for a plan without limits, scaled.

With machines without end each task would run on the kind that is fastest for it as soon as its
parents have ended. Of that plan of an interval follow n_i = ⌈Σ planned seconds on kind i / Δt⌉
machines. All n_i are multiplied with budget / cost, which may be more than one, and rounded down;
the rest is spent in turn on the kinds planned. Then the interval is planned with the machines that
there are (`planned_tasks`), workflows in the order of priority. Idle machines without a task are
released.
"""

import heapq
import math
from collections.abc import Collection, Iterator, Sequence

from bats.common.money import Money
from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.scaling.budgets.planned_tasks import (
    PlannedTasks,
    Planning,
    by_priority,
    fastest,
)
from bats.master.brain.scaling.scaler import ElasticView


class SCF(PlannedTasks):
    def __init__(self, boot: float = 0.0) -> None:
        super().__init__()
        self._boot = boot

    def want(self, pool: ElasticView) -> Sequence[int]:
        if pool.budget is None:
            raise ValueError("SCF spends a budget, and this pool has none")
        seconds = [0.0] * len(pool.kinds)
        for kind, planned in _planned(pool):
            seconds[kind] += planned
        numbers = [math.ceil(one / pool.interval) for one in seconds]
        return scaled(numbers, [kind.price for kind in pool.kinds], pool.budget)

    def plan(self, pool: ElasticView) -> Collection[int]:
        plan = Planning(pool, self._boot)
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


def _planned(pool: ElasticView) -> Iterator[tuple[int, float]]:
    """Kinds and seconds of all tasks that would run within the interval."""
    kind_of = {one.number: one.kind for one in pool.machines()}
    running: dict[int, dict[int, float]] = {}
    for place, workflow, task, until in pool.busy():
        left = until - pool.now
        running.setdefault(workflow.number, {})[task] = left
        yield kind_of[place], min(left, pool.interval)
    for one in pool.present:
        yield from _without_limits(pool, one, running.get(one.number, {}))


def _without_limits(
    pool: ElasticView, one: Present, running: dict[int, float]
) -> Iterator[tuple[int, float]]:
    waits: dict[int, int] = {}
    ready = [(0.0, task) for task in one.waiting_tasks()]
    ends = [(left, task) for task, left in running.items()]
    heapq.heapify(ends)
    while ready or ends:
        for begin, task in ready:
            kind = fastest(pool, one, task)
            takes = one.workflow.estimate(task, kind, pool.kinds[kind].speed)
            yield kind, min(takes, pool.interval - begin)
            heapq.heappush(ends, (begin + takes, task))
        ready = []
        if ends:
            now, task = heapq.heappop(ends)
            if now >= pool.interval:
                return
            for child in one.near.children[task]:
                waits[child] = waits.get(child, one.waits_for(child)) - 1
                if not waits[child]:
                    ready.append((now, child))
