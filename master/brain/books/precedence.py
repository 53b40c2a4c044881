"""The order among tasks as it is worked off: how much each waits for, and who waits for it.

Each edge is looked at once when its parent is done, and once more whenever its parent fails for
good or is tried again after that. A barrier is two counters, however many tasks it parts.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isinf
from typing import Final

from bats.common.errors import BrokenInvariantError
from bats.master.brain.arrays import np
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.graphs.parallelism import Incremental, at_most
from bats.master.brain.protocol.graph import Graph, worked_off

AGAIN: Final = 0.9
"""The share of the tasks that must be left for a width to be taken as it was."""

MOST_PAIRS: Final = 1_000_000
"""Pairs of tasks, barriers written out, of which generations are kept."""


class _Barrier:
    """Tasks of a step that wait for all of another."""

    __slots__ = ("after", "hopeless", "left")

    def __init__(self, left: int, after: range) -> None:
        self.left = left  # tasks before it that are not done
        self.hopeless = 0  # of those, how many never will be
        self.after = after


class Precedence:
    """`waits` and `hopeless` count, for each task, edges and barriers that hold it up."""

    __slots__ = (
        "_barriers", "_children", "_first", "_generations", "_in_order", "_left", "_there",
        "_there_then", "_width", "graph", "hopeless", "starts", "waits",
    )  # fmt: skip

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._in_order: list[int] = []  # parents before children, once it was asked for
        self._generations: Incremental | None = None  # of what is left, once it was asked for
        self._width: int | None = None  # of the tasks left then, at most, once it was asked for
        self._left: Sequence[int] = bytes([True]) * graph.tasks
        self._there = self._there_then = graph.tasks  # how many are left; how many were then
        self.starts = graph.starts()
        tasks = self.starts[-1]
        pairs = np.frombuffer(graph.edges, "<u4").reshape(-1, 2)
        parents, children = pairs[:, 0], pairs[:, 1]
        if pairs.size and (int(pairs.max()) >= tasks or (np.diff(parents.astype("i8")) < 0).any()):
            raise BrokenInvariantError("edges out of order, or of tasks that are not there")
        self._first = array(
            "I", np.searchsorted(parents, np.arange(tasks + 1)).astype("u4").tobytes()
        )
        self._children = array("I", children.astype("u4").tobytes())
        waits = np.bincount(children, minlength=tasks).astype("u4")
        self._barriers: list[list[_Barrier]] = [[] for _ in graph.steps]
        for before, after in graph.barriers:
            behind = range(self.starts[after], self.starts[after + 1])
            self._barriers[before].append(_Barrier(graph.steps[before].tasks, behind))
            waits[behind.start : behind.stop] += 1
        self.waits = array("I", waits.tobytes())
        self.hopeless = array("I", bytes(4 * tasks))

    def step_of(self, task: int) -> int:
        return bisect_right(self.starts, task) - 1

    def finished(self, task: int) -> Iterator[int]:
        """Count the task as done; tasks that wait for nothing more are given."""
        waits = self.waits
        if self._generations is not None:
            if waits[task]:
                self._generations = None  # it was done in an earlier life: count anew
            else:
                self._generations.finish(task)
        for child in self._children[self._first[task] : self._first[task + 1]]:
            waits[child] -= 1
            if not waits[child]:
                yield child
        for barrier in self._behind(task):
            barrier.left -= 1
            if not barrier.left:
                for child in barrier.after:
                    waits[child] -= 1
                    if not waits[child]:
                        yield child

    def despaired(self, task: int) -> Iterator[int]:
        """Count the task as one that will not be done; tasks that had hope until now are given."""
        hopeless = self.hopeless
        for child in self._children[self._first[task] : self._first[task + 1]]:
            hopeless[child] += 1
            if hopeless[child] == 1:
                yield child
        for barrier in self._behind(task):
            barrier.hopeless += 1
            if barrier.hopeless == 1:
                for child in barrier.after:
                    hopeless[child] += 1
                    if hopeless[child] == 1:
                        yield child

    def hoped_for(self, task: int) -> Iterator[int]:
        """Count the task as one that may be done after all; what has hope again is given."""
        hopeless = self.hopeless
        for child in self._children[self._first[task] : self._first[task + 1]]:
            hopeless[child] -= 1
            if not hopeless[child]:
                yield child
        for barrier in self._behind(task):
            barrier.hopeless -= 1
            if not barrier.hopeless:
                for child in barrier.after:
                    hopeless[child] -= 1
                    if not hopeless[child]:
                        yield child

    def holds_up(self, task: int) -> int:
        """The number of tasks that wait for this one, or would if it were the last of its step."""
        edges = self._first[task + 1] - self._first[task]
        return edges + sum(len(barrier.after) for barrier in self._behind(task))

    def in_order(self) -> Sequence[int]:
        """All tasks, parents before children."""
        if not self._in_order:
            self._in_order = worked_off(self.graph)
        return self._in_order

    def look(self, count: int, left: Callable[[], Sequence[int]]) -> None:
        """So many tasks are left after an event: if that is much less, or more, these count now.

        At events alone: if they were taken as they are when somebody asks, he would decide.
        """
        if count > self._there or count < AGAIN * self._there_then:
            self._left, self._there_then, self._width = left(), count, None
        self._there = count

    def most_at_once(self, count: int, left: Callable[[], Sequence[int]]) -> int:
        """The most tasks that may ever be ready or run at a time, of those left."""
        if count > self._there:  # in the middle of an event
            return at_most(self.graph, left())
        if self._width is None:
            self._width = at_most(self.graph, self._left)
        return min(self._width, count)

    def level(self, is_done: Callable[[int], bool], generations: float) -> int | None:
        """The most tasks in one of the next so many generations; None of too many pairs of tasks.

        What is cut off counts as left: it may be tried again.
        """
        steps = self.graph.steps
        across = sum(steps[a].tasks * steps[b].tasks for a, b in self.graph.barriers)
        if across + len(self._children) > MOST_PAIRS:
            return None
        if self._generations is None:
            self._generations = Incremental(neighbours(self.graph))
            for task in self.in_order():
                if is_done(task):
                    self._generations.finish(task)
        if isinf(generations):
            return self._generations.level
        return self._generations.look_ahead(int(generations))

    def freed_by(self, tasks: Iterable[int]) -> int:
        """The number of tasks that would wait for nothing more if all of these were done."""
        less: dict[int, int] = {}
        by_step: dict[int, int] = {}
        for task in tasks:
            for child in self._children[self._first[task] : self._first[task + 1]]:
                less[child] = less.get(child, 0) + 1
            if self.graph.barriers:
                step = self.step_of(task)
                by_step[step] = by_step.get(step, 0) + 1
        for step, count in by_step.items():
            for barrier in self._barriers[step]:
                if barrier.left == count:
                    for child in barrier.after:
                        less[child] = less.get(child, 0) + 1
        return sum(self.waits[child] == count for child, count in less.items())

    def parents(self, task: int) -> tuple[list[int], list[int]]:
        """The tasks it waits for, one by one, and the steps that it waits for as a whole."""
        children = np.frombuffer(self._children, "u4")
        edges = np.flatnonzero(children == task)
        first = np.frombuffer(self._first, "u4")
        alone = (np.searchsorted(first, edges, side="right") - 1).tolist()
        mine = self.step_of(task)
        return alone, [before for before, after in self.graph.barriers if after == mine]

    def _behind(self, task: int) -> Sequence[_Barrier]:
        """The barriers that this task keeps shut."""
        if not self.graph.barriers:
            return ()
        return self._barriers[bisect_right(self.starts, task) - 1]
