"""The order among tasks: which of them wait for which. Plain data, however large.

Tasks are numbered step by step. That all of one step must be done before any of another begins is
one barrier, not an edge for each pair of tasks.
"""

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from bats.common.records import dataclass

MOST_EDGES: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Step:
    """Tasks of one kind: their runtimes are alike, and they lie next to one another."""

    name: str
    tasks: int
    retries: int | None = None  # how often one may fail before it is given up; None: as the bag's


@dataclass(frozen=True, slots=True)
class Graph:
    """`edges` are pairs of parent and child, by rising parent, four bytes each, low ones first.

    `seconds` is what each task took once, as floats of four bytes; empty when nobody knows.
    """

    steps: tuple[Step, ...]
    barriers: tuple[tuple[int, int], ...] = ()  # all of the first step before any of the second
    edges: bytes = b""
    seconds: bytes = b""

    @property
    def tasks(self) -> int:
        return sum(step.tasks for step in self.steps)

    def starts(self) -> list[int]:
        """The first task of each step, and one past the last of all."""
        return [0, *accumulate(step.tasks for step in self.steps)]

    def step_of(self, task: int) -> int:
        return bisect_right(self.starts(), task) - 1

    def pairs(self) -> "array[int]":
        """Parent, child, parent, child, …"""
        flat = array("I")
        assert flat.itemsize == 4
        flat.frombytes(self.edges)
        if sys.byteorder == "big":
            flat.byteswap()
        return flat

    def took(self) -> "array[float]":
        """The seconds that each task took once; 0 of one of which nobody knows."""
        return unpacked_seconds(self.seconds) if self.seconds else array("f", bytes(4 * self.tasks))

    def to_plain(self) -> dict[str, Any]:
        return {
            "steps": [[step.name, step.tasks, step.retries] for step in self.steps],
            "barriers": [list(pair) for pair in self.barriers],
            "edges": self.edges,
            "seconds": self.seconds,
        }


def graph(
    steps: Sequence[Step],
    edges: Iterable[tuple[int, int]] = (),
    barriers: Iterable[tuple[int, int]] = (),
) -> Graph:
    """The graph of these edges, each (parent, child); one that is given twice counts once."""
    flat = array("I", (end for pair in sorted(set(edges)) for end in pair))
    if sys.byteorder == "big":
        flat.byteswap()
    return Graph(tuple(steps), tuple(sorted(set(barriers))), flat.tobytes())


def graph_from(plain: Mapping[str, Any]) -> Graph:
    """The opposite of `to_plain`. Raises LookupError, TypeError or ValueError for what is none."""
    made = Graph(
        tuple(Step(str(name), int(tasks), retries) for name, tasks, retries in plain["steps"]),
        tuple((int(before), int(after)) for before, after in plain["barriers"]),
        bytes(plain["edges"]),
        bytes(plain.get("seconds", b"")),  # not told until 0.1.0
    )
    if len(made.edges) % 8:
        raise ValueError("half an edge")
    if len(made.seconds) not in {0, 4 * made.tasks}:
        raise ValueError("runtimes of other tasks")
    return made


def packed_seconds(seconds: Iterable[float]) -> bytes:
    """Runtimes as a graph holds them; empty if none is known."""
    flat = array("f", seconds)
    if not any(flat):
        return b""
    if sys.byteorder == "big":
        flat.byteswap()
    return flat.tobytes()


def unpacked_seconds(packed: bytes) -> "array[float]":
    flat = array("f")
    assert flat.itemsize == 4
    flat.frombytes(packed)
    if sys.byteorder == "big":
        flat.byteswap()
    return flat


def worked_off(of: Graph) -> list[int]:
    """The tasks in an order that keeps to the graph; those of a circle are left out."""
    starts = of.starts()
    flat = of.pairs()
    children: dict[int, list[int]] = {}
    waits = [0] * of.tasks
    for parent, child in zip(flat[::2], flat[1::2], strict=True):
        children.setdefault(parent, []).append(child)
        waits[child] += 1
    behind: dict[int, list[int]] = {}
    left = [step.tasks for step in of.steps]
    for before, after in of.barriers:
        behind.setdefault(before, []).append(after)
        for task in range(starts[after], starts[after + 1]):
            waits[task] += 1
    done = [task for task, count in enumerate(waits) if not count]
    for task in done:  # it grows meanwhile
        step = bisect_right(starts, task) - 1
        left[step] -= 1
        freed = list(children.get(task, ()))
        if not left[step]:
            for after in behind.get(step, ()):
                freed += range(starts[after], starts[after + 1])
        for child in freed:
            waits[child] -= 1
            if not waits[child]:
                done.append(child)
    return done
