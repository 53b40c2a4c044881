"""A graph of tasks as a combination, made once for its structure (PROB section 4.1).

The paper lists all paths from entry to exit, drops those that are a subset of another, and binds
paths position by position while that saves operations. A graph of ten thousand tasks has more
paths than can be listed. The same is had without listing any: a path that is a subset of another
takes an edge that a longer way goes around, so that dropping these edges (the transitive
reduction) drops exactly those paths; and binding joins tasks that have the same parents and
children (MAX) or follow only each other (ADD). Where neither goes any further, paths share tasks.
They are bound by levels there, as if each level waited for the whole one before: longer than the
truth, never shorter.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from itertools import pairwise

from bats.common.records import dataclass
from bats.master.brain.probability.combination import (
    NOTHING,
    Combination,
    Task,
    at_once,
    in_order,
)

Parents = Sequence[Sequence[int]]
"""Of each task, those it waits for; a task's number is its place."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A combination, and how many of its tasks wait in it for more than they do in the graph."""

    combination: Combination
    bound: int

    @property
    def exact(self) -> bool:
        return self.bound == 0


def reduced(parents: Parents) -> Reduction:
    """The combination of a graph without cycles; of the last few graphs it is known."""
    return _reduced(tuple(map(tuple, parents)))


@lru_cache(maxsize=8)
def _reduced(parents: tuple[tuple[int, ...], ...]) -> Reduction:
    core = _Core.of(without_detours(parents))
    core.join_what_can_be_joined()
    if not core.parts:
        return Reduction(NOTHING, 0)
    if len(core.parts) == 1:
        return Reduction(next(iter(core.parts.values())), 0)
    return core.bound_by_levels()


def paths(parents: Parents) -> int:
    """The number of ways from a task without parents to one without children."""
    ways, is_parent = [0] * len(parents), [False] * len(parents)
    for task in in_turn(parents):
        ways[task] = sum(ways[one] for one in parents[task]) or 1
        for one in parents[task]:
            is_parent[one] = True
    return sum(ways[task] for task in range(len(parents)) if not is_parent[task])


def without_detours(parents: Parents) -> list[list[int]]:
    """The same order with the fewest edges: none that a longer way goes around."""
    before = [0] * len(parents)  # of each task, all it waits for, a bit each
    kept: list[list[int]] = [[] for _ in parents]
    for task in in_turn(parents):
        beyond = 0
        for one in parents[task]:
            beyond |= before[one]
        kept[task] = sorted({one for one in parents[task] if not beyond >> one & 1})
        before[task] = beyond
        for one in kept[task]:
            before[task] |= 1 << one
    return kept


def in_turn(parents: Parents) -> list[int]:
    """The tasks, each after all it waits for."""
    children = children_of(parents)
    missing = [len(set(ones)) for ones in parents]
    order = [task for task, number in enumerate(missing) if not number]
    for task in order:  # grows while it is read
        for child in children[task]:
            missing[child] -= 1
            if not missing[child]:
                order.append(child)
    if len(order) < len(parents):
        stuck = next(task for task, number in enumerate(missing) if number)
        raise ValueError(f"Task {stuck} waits for itself, through others: the graph has a cycle.")
    return order


def children_of(parents: Parents) -> list[list[int]]:
    """Of each task, those that wait for it, each once."""
    children: list[list[int]] = [[] for _ in parents]
    for task, ones in enumerate(parents):
        for one in set(ones):
            children[one].append(task)
    return children


def levels_of(parents: Parents) -> tuple[tuple[int, ...], ...]:
    """The tasks by their longest way from an entry."""
    level = [0] * len(parents)
    for task in in_turn(parents):
        level[task] = max((level[one] + 1 for one in parents[task]), default=0)
    members: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for task, its in enumerate(level):
        members[its].append(task)
    return tuple(map(tuple, members))


@dataclass(slots=True)
class _Core:
    """The rest of a graph while its nodes are joined."""

    parts: dict[int, Combination]
    parents: dict[int, set[int]]
    children: dict[int, set[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, parents: Parents) -> "_Core":
        core = cls(
            {task: Task(task) for task in range(len(parents))},
            {task: set(ones) for task, ones in enumerate(parents)},
            {task: set() for task in range(len(parents))},
        )
        for task, ones in core.parents.items():
            for one in ones:
                core.children[one].add(task)
        return core

    def join_what_can_be_joined(self) -> None:
        while self._join_twins() or self._join_chains():
            pass

    def _join_twins(self) -> bool:
        """Nodes with the same parents and children become one, their maximum."""
        alike: dict[tuple[frozenset[int], frozenset[int]], list[int]] = defaultdict(list)
        for node in self.parts:
            place = frozenset(self.parents[node]), frozenset(self.children[node])
            alike[place].append(node)
        twins = [nodes for nodes in alike.values() if len(nodes) > 1]
        for first, *others in twins:
            self.parts[first] = at_once(*(self.parts[node] for node in (first, *others)))
            for node in others:
                self._remove(node)
        return bool(twins)

    def _join_chains(self) -> bool:
        """Nodes that follow only each other become one, their sum."""
        heads = [
            node
            for node in self.parts
            if len(self.children[node]) == 1
            and len(self.parents[next(iter(self.children[node]))]) == 1
        ]
        for node in heads:
            (child,) = self.children[node]  # which takes in what comes before it
            self.parts[child] = in_order(self.parts[node], self.parts[child])
            above = set(self.parents[node])
            self._remove(node)
            self.parents[child] = above
            for one in above:
                self.children[one].add(child)
        return bool(heads)

    def _remove(self, node: int) -> None:
        for one in self.parents[node]:
            self.children[one].discard(node)
        for one in self.children[node]:
            self.parents[one].discard(node)
        del self.parts[node], self.parents[node], self.children[node]

    def bound_by_levels(self) -> Reduction:
        """Nodes by their longest way from an entry, a level after another."""
        place = {node: k for k, node in enumerate(self.parts)}
        nodes = list(self.parts)
        parents = [[place[one] for one in self.parents[node]] for node in nodes]
        levels = levels_of(parents)
        bound = sum(
            set(parents[node]) != set(before)
            for before, level in pairwise(levels)
            for node in level
        )
        joined = [at_once(*(self.parts[nodes[k]] for k in level)) for level in levels]
        return Reduction(in_order(*joined), bound)
