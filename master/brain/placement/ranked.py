"""Ready tasks by rank and workflows by need, with estimates (Ilyushkin, thesis §3.3)."""

import heapq
from collections import deque
from collections.abc import Iterator
from statistics import fmean

from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Forgetful, Pick, PoolView


class CriticalPath(Forgetful):
    """CPP (§3.3.3): the first workflow in the queue, its task of highest r_u."""

    def place(self, pool: PoolView) -> Iterator[Pick]:
        for workflow in pool.present:
            while workflow.waiting:
                yield Pick(workflow, workflow.nth(0), pool.fastest())


class BreadthFirst(Forgetful):
    """Of the first workflow in the queue the task that is first breadth first (§4.4.2)."""

    def place(self, pool: PoolView) -> Iterator[Pick]:
        for workflow in pool.present:
            while workflow.waiting:
                yield Pick(workflow, workflow.first_in_breadth(), pool.fastest())


class Priority(Forgetful):
    """The workflow of highest priority first, its tasks breadth first (§5.3.3)."""

    def place(self, pool: PoolView) -> Iterator[Pick]:
        for workflow in sorted(
            (one for one in pool.present if one.waiting), key=lambda one: -one.workflow.priority
        ):
            while workflow.waiting:
                yield Pick(workflow, workflow.first_in_breadth(), pool.fastest())


class LeastRemaining(Forgetful):
    """FDWS (§3.3.5): the highest r_a = ((m_j / p_j) · c_j)⁻¹ first, its task of highest r_u."""

    def place(self, pool: PoolView) -> Iterator[Pick]:
        # m_j, p_j and c_j stay as they are while places are filled, and so does the order.
        for workflow in sorted(
            (one for one in pool.present if one.waiting),
            key=lambda one: one.unfinished / one.tasks * one.critical,
        ):
            while workflow.waiting:
                yield Pick(workflow, workflow.nth(0), pool.fastest())


class HybridRank(Forgetful):
    """HR (§3.3.6): of several workflows the task of lowest r_u, of one that of the highest."""

    def place(self, pool: PoolView) -> Iterator[Pick]:
        lowest = [
            (one.ranks[one.nth(-1)], k, one) for k, one in enumerate(pool.present) if one.waiting
        ]
        heapq.heapify(lowest)
        while lowest:
            _, k, workflow = heapq.heappop(lowest)
            which = -1 if lowest else 0
            yield Pick(workflow, workflow.nth(which), pool.fastest())
            if workflow.waiting:
                heapq.heappush(lowest, (workflow.ranks[workflow.nth(-1)], k, workflow))


class Slowdown:
    """FWP (§3.3.7): the highest r_b,j = ŝ_j - s_t first, its task of highest r_u.

    (3.4) s_t is the mean slowdown of the last K workflows that ended. It is the same for all, so
    that it changes no choice: it is only told. (3.6) ξ = mean measured / mean estimated runtime of
    the last M tasks that ended. (3.5) ŝ_j = (t̂_j + ĉ_j ξ) / (c_j ξ).
    """

    M = 1000
    K = 300

    def __init__(self) -> None:
        self._tasks: deque[tuple[float, float]] = deque(maxlen=self.M)
        self._measured = self._estimated = 0.0
        self._slowdowns: deque[float] = deque(maxlen=self.K)

    @property
    def s_t(self) -> float:
        return fmean(self._slowdowns) if self._slowdowns else 1.0

    @property
    def xi(self) -> float:
        return self._measured / self._estimated if self._estimated > 0 < self._measured else 1.0

    def arrived(self, pool: PoolView) -> None: ...

    def task_ended(self, _workflow: Present, seconds: float, estimate: float) -> None:
        if len(self._tasks) == self.M:
            measured, estimated = self._tasks[0]
            self._measured -= measured
            self._estimated -= estimated
        self._tasks.append((seconds, estimate))
        self._measured += seconds
        self._estimated += estimate

    def workflow_ended(self, workflow: Present, now: float) -> None:
        critical = workflow.critical * self.xi
        if critical:
            self._slowdowns.append((now - workflow.arrived) / critical)

    def place(self, pool: PoolView) -> Iterator[Pick]:
        xi = self.xi

        def urgency(workflow: Present) -> float:
            since = pool.now - workflow.arrived
            critical = workflow.critical * xi
            return -(since + workflow.longest_left * xi) / critical if critical else 0.0

        queue = [(urgency(one), k, one) for k, one in enumerate(pool.present) if one.waiting]
        heapq.heapify(queue)
        while queue:
            _, k, workflow = queue[0]
            yield Pick(workflow, workflow.nth(0), pool.fastest())
            if workflow.waiting:
                heapq.heapreplace(queue, (urgency(workflow), k, workflow))
            else:
                heapq.heappop(queue)
