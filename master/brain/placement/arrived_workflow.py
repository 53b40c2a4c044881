"""A workflow that has come to a pool, with what placement policies ask of it."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush

from bats.common.records import dataclass
from bats.master.brain.graphs.adjacency import Neighbours
from bats.master.brain.graphs.parallelism import Incremental
from bats.master.brain.graphs.ranks import upward


@dataclass(frozen=True, slots=True)
class Workflow:
    """Tasks with their order, and how long each is held to take on a machine of speed 1."""

    near: Neighbours
    estimates: Sequence[float]
    by_kind: Sequence[Sequence[float]] = ()
    """The same on each kind of machine, where no speed says it."""
    priority: int = 0  # higher first

    def estimate(self, task: int, kind: int, speed: float) -> float:
        return self.by_kind[kind][task] if self.by_kind else self.estimates[task] / speed


class Present:
    """A workflow with tasks that have not ended.

    `waiting` holds the tasks that may start, those of highest r_u first; of equal rank, parents
    come before children.
    """

    __slots__ = (
        "_breadth",
        "_by_breadth",
        "_ended",
        "_generations",
        "_not_begun",
        "_order",
        "_position",
        "_waiting",
        "_waits",
        "arrived",
        "began",
        "critical",
        "near",
        "number",
        "ranks",
        "running",
        "tasks",
        "workflow",
    )

    def __init__(self, number: int, workflow: Workflow, arrived: float) -> None:
        self.number = number
        self.workflow = workflow
        self.near = near = workflow.near
        self.arrived = arrived
        self.began: float | None = None  # its first task
        self.ranks = upward(near, workflow.estimates)
        self.critical = max(self.ranks, default=0.0)  # c_j, equation 3.2
        self.tasks = len(near)
        self.running = 0
        self._breadth = breadth = [0] * self.tasks
        for k, task in enumerate(near.order):
            breadth[task] = k
        self._order = sorted(near.order, key=lambda task: (-self.ranks[task], breadth[task]))
        self._position = [0] * self.tasks
        for k, task in enumerate(self._order):
            self._position[task] = k
        self._waits = [len(parents) for parents in near.parents]
        self._waiting = [k for k, task in enumerate(self._order) if not self._waits[task]]
        self._ended: list[int] = []
        self._not_begun = bytearray(b"\1") * self.tasks
        self._generations: Incremental | None = None
        self._by_breadth: list[int] | None = None  # a heap, with some that have begun

    # --- what policies see ------------------------------------------------------------------------

    @property
    def unfinished(self) -> int:
        """m_j, running tasks included."""
        return self.tasks - len(self._ended)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def eligible(self) -> int:
        """|E_0|: tasks that run or may start."""
        return len(self._waiting) + self.running

    @property
    def generations(self) -> Incremental:
        """The sizes of E_0, E_1, … of what is left."""
        if self._generations is None:
            self._generations = Incremental(self.near)
            for task in self._ended:
                self._generations.finish(task)
        return self._generations

    def nth(self, k: int) -> int:
        """The waiting task of k-th highest rank; -1 is the one of the lowest."""
        return self._order[self._waiting[k]]

    def waiting_tasks(self) -> list[int]:
        """By rank."""
        return [self._order[position] for position in self._waiting]

    def first_in_breadth(self) -> int:
        """The waiting task that is first breadth first; there must be one."""
        if self._by_breadth is None:
            self._by_breadth = sorted(self._breadth[task] for task in self.waiting_tasks())
        order = self.near.order
        while not self._not_begun[self._position[order[self._by_breadth[0]]]]:
            heappop(self._by_breadth)
        return order[self._by_breadth[0]]

    def breadth(self, task: int) -> int:
        """The number of a task when all are counted breadth first, parents before children."""
        return self._breadth[task]

    def waits_for(self, task: int) -> int:
        """Parents that have not ended."""
        return self._waits[task]

    @property
    def longest_left(self) -> float:
        """ĉ_j: the longest way to the end from a task that has not begun.

        A task has no lower rank than its children, so that this one is the first of all by rank.
        """
        first = self._not_begun.find(1)
        return self.ranks[self._order[first]] if first >= 0 else 0.0

    @property
    def over(self) -> bool:
        return len(self._ended) == self.tasks

    def left(self) -> list[int]:
        """Tasks that have not begun, by rank."""
        return [task for k, task in enumerate(self._order) if self._not_begun[k]]

    def may_start(self, task: int) -> bool:
        position = self._position[task]
        at = bisect_left(self._waiting, position)
        return at < len(self._waiting) and self._waiting[at] == position

    # --- what the pool tells ----------------------------------------------------------------------

    def start(self, task: int, now: float) -> None:
        position = self._position[task]
        at = bisect_left(self._waiting, position)
        if at == len(self._waiting) or self._waiting[at] != position:
            raise ValueError(f"task {task} of workflow {self.number} may not start")
        del self._waiting[at]
        self._not_begun[position] = 0
        self.running += 1
        if self.began is None:
            self.began = now

    def end(self, task: int) -> None:
        self.running -= 1
        self._ended.append(task)
        if self._generations is not None:
            self._generations.finish(task)
        for child in self.near.children[task]:
            self._waits[child] -= 1
            if not self._waits[child]:
                insort(self._waiting, self._position[child])
                if self._by_breadth is not None:
                    heappush(self._by_breadth, self._breadth[child])
