"""Mixtures of workflows as the thesis runs them: sizes, kinds and amounts of work (§2.2, §2.3)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator

from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.scientific import SCIENTIFIC, Generate, ligo, montage, sipht


class Sizes(NamedTuple):
    share: float
    least: int
    most: int


SIZES: Final[Mapping[str, Sizes]] = {
    "small": Sizes(0.75, 30, 38),
    "medium": Sizes(0.20, 40, 198),
    "large": Sizes(0.05, 200, 600),
}
"""Even numbers of tasks, uniform within each."""

MIXED: Final[tuple[Generate, ...]] = (montage, ligo, sipht)


def hyper_gamma(rng: Generator, short: float = 501.266, long: float = 136.709) -> float:
    """The work of a workflow in seconds (Lublin and Feitelson): 3600 on average."""
    if rng.random() < 0.7:
        return float(rng.gamma(5, short))
    return float(rng.gamma(45, long))


def size_of(rng: Generator) -> tuple[str, int]:
    """A class of sizes, and a size of it."""
    names = list(SIZES)
    name = names[rng.choice(len(names), p=[one.share for one in SIZES.values()])]
    _, least, most = SIZES[name]
    return name, 2 * int(rng.integers(least // 2, most // 2 + 1))


ANY_NUMBER: Final[Mapping[str, Sizes]] = {
    "small": Sizes(0.75, 30, 39),
    "medium": Sizes(0.20, 40, 199),
    "large": Sizes(0.05, 200, 600),
}
"""Sizes of chapter 4: odd numbers, too."""


def raw(rng: Generator) -> Generated:
    """A workflow of the mixture with any number of tasks, and the runtimes of its generator.

    A workflow of LIGO has an even number.
    """
    names = list(ANY_NUMBER)
    name = names[rng.choice(len(names), p=[one.share for one in ANY_NUMBER.values()])]
    _, least, most = ANY_NUMBER[name]
    size = int(rng.integers(least, most + 1))
    kind = MIXED[int(rng.integers(len(MIXED)))]
    return kind(size - size % 2 if kind is ligo else size, rng)


def mixed(rng: Generator) -> Generated:
    """A workflow of the mixture, its work drawn."""
    _, size = size_of(rng)
    kind = MIXED[int(rng.integers(len(MIXED)))]
    return kind(size, rng).scaled(hyper_gamma(rng))


def makespan(of: Generated, places: int) -> float:
    """The time alone on so many places: whoever is free takes the next that is ready, in turn."""
    import heapq

    from bats.master.brain.graphs.adjacency import neighbours

    near = neighbours(of.graph)
    waits = np.array([len(parents) for parents in near.parents])
    ready = [task for task in range(len(near)) if not waits[task]]
    running: list[tuple[float, int]] = []
    now = 0.0
    first = 0
    while first < len(ready) or running:
        while first < len(ready) and len(running) < places:
            heapq.heappush(running, (now + of.seconds[ready[first]], ready[first]))
            first += 1
        now, task = heapq.heappop(running)
        for child in near.children[task]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    return now


__all__ = ["MIXED", "SCIENTIFIC", "SIZES", "hyper_gamma", "makespan", "mixed", "raw", "size_of"]
