"""Synthetic workflows: graphs with a true runtime for each task, grown task by task."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator

from bats.common.records import dataclass
from bats.master.brain.protocol.graph import Graph, Step, graph

ENTRY: Final = "entry"
EXIT: Final = "exit"


@dataclass(frozen=True, slots=True)
class Generated:
    """A workflow with its runtimes in seconds, on a machine of speed 1."""

    graph: Graph
    seconds: tuple[float, ...]

    @property
    def total(self) -> float:
        """t_e, the work of all its tasks."""
        return float(sum(self.seconds))

    def scaled(self, total: float) -> "Generated":
        """The same with so much work in all."""
        factor = total / self.total
        return replace(self, seconds=tuple(factor * one for one in self.seconds))


class Growing:
    """A workflow to which tasks are added, parents before children."""

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._seconds: list[float] = []
        self._edges: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, kind: str, seconds: float, after: Iterable[int] = ()) -> int:
        task = len(self._kinds)
        self._kinds.append(kind)
        self._seconds.append(float(seconds))
        self._edges += [(parent, task) for parent in after]
        return task

    def grown(self, *, one_end: bool = False) -> Generated:
        """The workflow, tasks of a kind side by side.

        With `one_end` there is one entry and one exit: where there are more, tasks of no length are
        put before and behind.
        """
        if one_end:
            self._put_ends()
        by_kind: dict[str, list[int]] = defaultdict(list)
        for task, kind in enumerate(self._kinds):
            by_kind[kind].append(task)
        numbered = [task for tasks in by_kind.values() for task in tasks]
        place = {task: k for k, task in enumerate(numbered)}
        steps = [Step(kind, len(tasks)) for kind, tasks in by_kind.items()]
        edges = ((place[parent], place[child]) for parent, child in self._edges)
        return Generated(graph(steps, edges), tuple(self._seconds[task] for task in numbered))

    def _put_ends(self) -> None:
        entries = sorted(set(range(len(self))) - {child for _, child in self._edges})
        exits = sorted(set(range(len(self))) - {parent for parent, _ in self._edges})
        if len(exits) > 1:
            self.add(EXIT, 0.0, exits)
        if len(entries) > 1:
            entry = self.add(ENTRY, 0.0)
            self._edges += [(entry, task) for task in entries]


# --- chances of the generators that Bharathi et al. published -------------------------------------


def normal_near(rng: Generator, mean: float, variance: float) -> float:
    """Normal, drawn again up to a hundred times until within half of the mean; else the mean."""
    for _ in range(100):
        drawn = rng.normal(mean, np.sqrt(variance))
        if abs(drawn - mean) <= mean / 2:
            return float(drawn)
    return mean


def parts_near(rng: Generator, parts: int, total: int, tolerance: float) -> Sequence[int]:
    """So many whole numbers that add up to the total, each near its part of it."""
    each = total / parts
    cuts = [
        round((k + 1) * each + rng.uniform(-tolerance / 2, tolerance / 2) * each)
        for k in range(parts - 1)
    ]
    ends = [0, *cuts, total]
    return [max(1, after - before) for before, after in itertools.pairwise(ends)]
