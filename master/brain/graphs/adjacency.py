"""Neighbours of each task in a graph, and an order in which all can be gone through."""

from collections.abc import Sequence

from bats.common.records import dataclass
from bats.master.brain.protocol.graph import Graph, worked_off


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Every pair of tasks written out, barriers too: for graphs that have few of those."""

    parents: Sequence[Sequence[int]]
    children: Sequence[Sequence[int]]
    order: Sequence[int]  # parents before children

    def __len__(self) -> int:
        return len(self.children)


def neighbours(of: Graph) -> Neighbours:
    starts, flat = of.starts(), of.pairs()
    parents: list[list[int]] = [[] for _ in range(of.tasks)]
    children: list[list[int]] = [[] for _ in range(of.tasks)]
    pairs = set(zip(flat[::2], flat[1::2], strict=True))
    for before, after in of.barriers:
        pairs.update(
            (parent, child)
            for parent in range(starts[before], starts[before + 1])
            for child in range(starts[after], starts[after + 1])
        )
    for parent, child in sorted(pairs):
        parents[child].append(parent)
        children[parent].append(child)
    return Neighbours(parents, children, worked_off(of))
