"""The level of parallelism: how many machines a graph may still use (Ilyushkin, thesis §2.3.1).

LoP(W) is the width of the graph of unfinished tasks, its largest set of which none waits for
another. `exact` finds it (Dilworth, by a largest matching in the transitive closure); `token`
counts the largest generation, when all of a generation end together, which is never more and may be
half. `Incremental` keeps the generations while tasks end: each only falls, so that a whole life
costs edges times depth.
"""

import math
from collections.abc import Collection, Sequence

from bats.master.brain.arrays import np
from bats.master.brain.graphs.adjacency import Neighbours
from bats.master.brain.protocol.graph import Graph


def exact(of: Neighbours, finished: Collection[int] = ()) -> int:
    """The width: memory grows with the square of the tasks."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    done = set(finished)
    left = [task for task in of.order if task not in done]
    if not left:
        return 0
    place = {task: k for k, task in enumerate(left)}
    below: list[int] = [0] * len(left)  # sets of tasks as bits
    for k in range(len(left) - 1, -1, -1):
        for child in of.children[left[k]]:
            if child in place:
                below[k] |= 1 << place[child] | below[place[child]]
    size = (len(left) + 7) // 8
    bits = np.frombuffer(b"".join(one.to_bytes(size, "little") for one in below), np.uint8)
    closure = np.unpackbits(bits.reshape(len(left), size), axis=1, bitorder="little")
    matching = maximum_bipartite_matching(csr_matrix(closure[:, : len(left)]), perm_type="column")
    return len(left) - int((matching >= 0).sum())


def token(of: Neighbours, finished: Collection[int] = (), depth: float = math.inf) -> int:
    """The largest of so many generations, running tasks counted in the first."""
    done = bytearray(len(of))
    for task in finished:
        done[task] = 1
    waits = [sum(not done[parent] for parent in parents) for parents in of.parents]
    now = [task for task in range(len(of)) if not done[task] and not waits[task]]
    best = len(now)
    generation = 0
    while now and generation < depth:
        following = []
        for task in now:
            for child in of.children[task]:
                waits[child] -= 1
                if not waits[child]:
                    following.append(child)
        now = following
        best = max(best, len(now))
        generation += 1
    return best


def at_most(of: Graph, left: Sequence[int]) -> int:
    """The width is never more: as many as chains that the tasks left can be strung on.

    `left` tells of each task if it is. Chains are strung greedily, edge by edge.
    """
    starts, flat = of.starts(), of.pairs()
    followed = bytearray(of.tasks)
    follows = bytearray(of.tasks)
    links = 0
    for parent, child in zip(flat[::2], flat[1::2], strict=True):
        if left[parent] and left[child] and not followed[parent] and not follows[child]:
            followed[parent] = follows[child] = 1
            links += 1
    for before, after in of.barriers:
        ends = [t for t in range(starts[before], starts[before + 1]) if left[t] and not followed[t]]
        heads = [t for t in range(starts[after], starts[after + 1]) if left[t] and not follows[t]]
        for parent, child in zip(ends, heads, strict=False):
            followed[parent] = follows[child] = 1
            links += 1
    return sum(map(bool, left)) - links


class Incremental:
    """The generations of what is left, kept up to date as tasks end.

    A task falls when the last of those parents has fallen that lay one generation before it. These
    are counted, so that of a task with a thousand parents not all are looked at for each that ends.
    """

    def __init__(self, of: Neighbours) -> None:
        self._of = of
        self._left = bytearray(b"\1") * len(of)
        self._waits = [len(parents) for parents in of.parents]
        self._generation = [0] * len(of)
        self._held = [0] * len(of)  # parents one generation before it, or fewer: then it looks anew
        self.counts: list[int] = []  # of each generation; the first can run now
        for task in of.order:
            generation = self._lies_in(task)
            self._generation[task] = generation
            while len(self.counts) <= generation:
                self.counts.append(0)
            self.counts[generation] += 1

    def finish(self, task: int) -> None:
        """Count out a task that waits for nothing."""
        self._left[task] = 0
        self.counts[0] -= 1
        fallen: list[tuple[int, int]] = []
        for child in self._of.children[task]:
            self._waits[child] -= 1
            self._held[child] -= self._generation[child] == 1
            if not self._waits[child]:
                self._move(child, 0, fallen)
        while fallen:
            parent, before = fallen.pop()
            for child in self._of.children[parent]:
                if self._generation[child] == before + 1:
                    self._held[child] -= 1
                    if self._held[child] <= 0:
                        self._move(child, self._lies_in(child), fallen)

    def look_ahead(self, generations: int) -> int:
        """The most that may run at a time within so many generations from now."""
        return max(self.counts[: generations + 1], default=0)

    @property
    def level(self) -> int:
        """LoP by tokens."""
        return max(self.counts, default=0)

    def _lies_in(self, task: int) -> int:
        """The generation after the last of its parents'; counts those that lie there."""
        before = [self._generation[p] for p in self._of.parents[task] if self._left[p]]
        last = max(before, default=-1)
        self._held[task] = before.count(last)
        return last + 1

    def _move(self, task: int, to: int, fallen: list[tuple[int, int]]) -> None:
        before = self._generation[task]
        if before != to:
            self.counts[before] -= 1
            self.counts[to] += 1
            self._generation[task] = to
            fallen.append((task, before))
