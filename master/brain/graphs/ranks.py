"""Ranks of tasks: how long the way to the end is, and from the beginning (Ilyushkin, §3.3.1).

(3.1) r_u(i) = ē_i + max r_u(j) over the children j; r_d(i) = max (r_d(j) + ē_j) over the parents j.
(3.2) c = max r_u(i), the length of the critical path. Moving data takes no time of its own here.
"""

from bisect import bisect_right
from collections.abc import Sequence

from bats.master.brain.graphs.adjacency import Neighbours
from bats.master.brain.protocol.graph import Graph


def upward(of: Neighbours, seconds: Sequence[float]) -> list[float]:
    """r_u: the time from the beginning of each task to the end, with machines to spare."""
    rank = [0.0] * len(of)
    for task in reversed(of.order):
        rank[task] = seconds[task] + max((rank[child] for child in of.children[task]), default=0.0)
    return rank


def downward(of: Neighbours, seconds: Sequence[float]) -> list[float]:
    """r_d: the time before each task can begin, with machines to spare."""
    rank = [0.0] * len(of)
    for task in of.order:
        rank[task] = max((rank[p] + seconds[p] for p in of.parents[task]), default=0.0)
    return rank


def through_barriers(of: Graph, order: Sequence[int], seconds: Sequence[float]) -> list[float]:
    """r_u in a graph whose barriers are not written out; `order` has parents before children."""
    starts, flat = of.starts(), of.pairs()
    behind: dict[int, list[int]] = {}
    for before, after in of.barriers:
        behind.setdefault(before, []).append(after)
    highest = [0.0] * len(of.steps)  # rank within a step
    first = [0] * (of.tasks + 1)
    for parent in flat[::2]:
        first[parent + 1] += 1
    for task in range(of.tasks):
        first[task + 1] += first[task]
    rank = [0.0] * of.tasks
    for task in reversed(order):
        step = bisect_right(starts, task) - 1
        below = max((highest[after] for after in behind.get(step, ())), default=0.0)
        for place in range(first[task], first[task + 1]):
            below = max(below, rank[flat[2 * place + 1]])
        rank[task] = seconds[task] + below
        highest[step] = max(highest[step], rank[task])
    return rank


def longest_way(of: Graph, order: Sequence[int], seconds: Sequence[float]) -> float:
    """c, in a graph with barriers; done tasks take no time."""
    return max(through_barriers(of, order, seconds), default=0.0)


def critical_path(of: Neighbours, seconds: Sequence[float]) -> list[int]:
    """The tasks of a longest way from the beginning to the end."""
    if not len(of):
        return []
    rank = upward(of, seconds)
    task = max(range(len(of)), key=lambda one: (rank[one], -one))
    path = [task]
    while of.children[task]:
        task = max(of.children[task], key=lambda one: (rank[one], -one))
        path.append(task)
    return path
