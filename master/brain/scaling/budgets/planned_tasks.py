"""A plan of one interval for the machines that there are, and its execution (§5.3.1, step 5).

Runtimes on each kind of machine are known. A task is planned if its parents have ended, run or are
planned, and if it can begin before the end of the interval; it is put behind what its machine has
to do. Tasks run in the order of the plan and no others: what becomes ready meanwhile waits for the
next call.
"""

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Forgetful, Pick, PoolView
from bats.master.brain.scaling.scaler import ElasticView, MachineView


class PlannedTasks(Forgetful):
    """Queues of tasks, one of each machine."""

    sees_tasks = True

    def __init__(self) -> None:
        self._next: dict[int, deque[tuple[Present, int]]] = {}

    def place(self, pool: PoolView) -> Iterator[Pick]:
        for place, planned in self._next.items():
            if planned and pool.is_free(place):
                workflow, task = planned[0]
                if workflow.may_start(task):
                    planned.popleft()
                    yield Pick(workflow, task, place)

    def carry_out(self, plan: "Planning") -> Collection[int]:
        """Take up a plan; machines without a task are told."""
        self._next = plan.queues
        return [machine for machine, tasks in plan.queues.items() if not tasks]


class Planning:
    def __init__(self, pool: ElasticView) -> None:
        self._pool = pool
        self._until = pool.now + pool.interval
        self._machines = {one.number: one for one in pool.machines()}
        self._free_at = {
            one.number: pool.now if one.ready else one.hired + pool.boot_seconds
            for one in self._machines.values()
        }
        self._ends: dict[tuple[int, int], float] = {}
        self.queues: dict[int, deque[tuple[Present, int]]] = {
            number: deque() for number in self._machines
        }
        for place, workflow, task, until in pool.busy():
            self._free_at[place] = self._ends[workflow.number, task] = until

    def put_on(self, kind: int, workflow: Present, task: int) -> None:
        """Plan a task that may start on the machine of a kind that is free first."""
        of_kind = [one for one in self._machines.values() if one.kind == kind]
        if of_kind:
            self._put(min(of_kind, key=self._begin), workflow, task, self._pool.now)

    def put_all(self, workflows: Iterable[Present]) -> None:
        """Plan all that can begin in the interval, workflow by workflow, breadth first."""
        for workflow in workflows:
            self._put_workflow(workflow)

    def _put_workflow(self, workflow: Present) -> None:
        near = workflow.near
        waits: dict[int, int] = {}
        queue = [
            (workflow.breadth(task), task)
            for task in workflow.waiting_tasks()
            if (workflow.number, task) not in self._ends
        ]
        heapq.heapify(queue)

        def count(task: int) -> None:
            for child in near.children[task]:
                waits[child] = waits.get(child, workflow.waits_for(child)) - 1
                if not waits[child]:
                    heapq.heappush(queue, (workflow.breadth(child), child))

        for number, task in list(self._ends):
            if number == workflow.number:
                count(task)
        while queue:
            _, task = heapq.heappop(queue)
            ends = [self._ends.get((workflow.number, one), 0.0) for one in near.parents[task]]
            ready = max([self._pool.now, *ends])
            if self._machines and ready < self._until:
                first = min(self._machines.values(), key=lambda one: max(self._begin(one), ready))
                if self._put(first, workflow, task, ready):
                    count(task)

    def _put(self, machine: MachineView, workflow: Present, task: int, ready: float) -> bool:
        begin = max(self._begin(machine), ready)
        if begin >= self._until:
            return False
        speed = self._pool.kinds[machine.kind].speed
        end = begin + workflow.workflow.estimate(task, machine.kind, speed)
        self._free_at[machine.number] = self._ends[workflow.number, task] = end
        self.queues[machine.number].append((workflow, task))
        return True

    def _begin(self, machine: MachineView) -> float:
        return max(self._pool.now, self._free_at[machine.number])


def fastest(pool: ElasticView, workflow: Present, task: int) -> int:
    """The kind on which a task takes least, of those alike the cheapest."""
    return min(
        range(len(pool.kinds)),
        key=lambda kind: (
            workflow.workflow.estimate(task, kind, pool.kinds[kind].speed),
            pool.kinds[kind].price,
        ),
    )


def by_priority(pool: ElasticView) -> list[Present]:
    return sorted(pool.present, key=lambda one: -one.workflow.priority)
