"""Plan (§4.4.2): as many machines as a plan of one interval keeps busy, runtimes being known.

Workflows are gone through in the order of arrival, their tasks breadth first. A task can be planned
when all its parents have ended, run or are planned. It is ready at their last planned end, and
starts then: on a place that is free by that time, or on one more. What is ready at the end of the
interval or later is left out. The target is the number of places.
"""

import heapq
from collections.abc import Iterator, Sequence

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.scaling.scaler import ElasticView, in_order


class Plan:
    sees_tasks = True

    def want(self, pool: ElasticView) -> Sequence[int]:
        most = sum(kind.most for kind in pool.kinds)
        running: dict[int, dict[int, float]] = {}
        for _, workflow, task, until in pool.busy():
            running.setdefault(workflow.number, {})[task] = until - pool.now
        free_at = [left for tasks in running.values() for left in tasks.values()]
        return in_order(_places(pool, running, free_at, most), pool.kinds)


def _places(
    pool: ElasticView, running: dict[int, dict[int, float]], free_at: list[float], most: int
) -> int:
    heapq.heapify(free_at)
    for workflow in pool.present:
        ends = running.get(workflow.number, {})
        for task, ready in _ready(workflow, ends, pool.interval):
            if free_at and free_at[0] <= ready:
                heapq.heappop(free_at)
            elif len(free_at) >= most:
                return most
            ends[task] = ready + workflow.workflow.estimates[task]
            heapq.heappush(free_at, ends[task])
    return len(free_at)


def _ready(
    workflow: Present, ends: dict[int, float], horizon: float
) -> Iterator[tuple[int, float]]:
    """Tasks breadth first that can be planned, and when; the caller puts the end of each down."""
    near = workflow.near
    waits: dict[int, int] = {}
    queue = [(workflow.breadth(task), task) for task in workflow.waiting_tasks()]
    heapq.heapify(queue)

    def count(task: int) -> None:
        for child in near.children[task]:
            waits[child] = waits.get(child, workflow.waits_for(child)) - 1
            if not waits[child]:
                heapq.heappush(queue, (workflow.breadth(child), child))

    for task in list(ends):
        count(task)
    while queue:
        _, task = heapq.heappop(queue)
        ready = max((ends.get(parent, 0.0) for parent in near.parents[task]), default=0.0)
        if ready < horizon:
            yield task, ready
            count(task)
