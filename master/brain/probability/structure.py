"""The makespan of a graph whose runtimes are random, by the reduction or by simulation.

A reduction treats tasks as if they waited for whole levels where paths share tasks, and takes no
notice of what such paths have in common. Both make it longer than the truth. How much is measured
against a simulation of the graph itself; where it is more than `TOLERANCE`, the simulation is used.
The true mean lies between the longest way of means and what the reduction says.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Final

import numpy as np
from numpy.random import Generator

from bats.common.records import dataclass
from bats.master.brain.probability.combination import Evaluation
from bats.master.brain.probability.histogram import Floats, Histogram, from_samples
from bats.master.brain.probability.reduction import Parents, Reduction, levels_of, reduced

TOLERANCE: Final = 0.02  # of the mean
DRAWS: Final = 2000  # the mean of a makespan within half a percent, if it varies by a fifth
CELLS: Final = 1 << 22  # of runtimes drawn at once: 32 MB

KeyOf = Callable[[int], Hashable]
Runtimes = Mapping[Hashable, Histogram]


@dataclass(frozen=True, slots=True)
class Makespan:
    """The time of a graph, and how much longer its mean is told than a simulation says."""

    distribution: Histogram
    too_long: float  # of the mean, 0 where it is exact or simulated
    simulated: bool
    between: tuple[float, float]  # bounds of the true mean


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """A graph, prepared once for whatever its tasks take."""

    parents: Parents
    levels: tuple[tuple[int, ...], ...]  # by the longest way from an entry
    reduction: Reduction

    @classmethod
    def of(cls, parents: Parents) -> "Structure":
        return cls(parents, levels_of(parents), reduced(parents))

    def makespan(self, evaluation: Evaluation, key_of: KeyOf) -> Histogram:
        """The makespan by the reduction: exact, or longer than the truth."""
        return evaluation.of(self.reduction.combination, key_of)

    def draws(self, runtimes: Runtimes, key_of: KeyOf, number: int, rng: Generator) -> Floats:
        """Makespans drawn by simulation of the graph; the same generator, common numbers."""
        keys = [key_of(task) for task in range(len(self.parents))]
        at_once = max(1, CELLS // max(1, len(keys)))
        parts = [
            self._drawn(runtimes, keys, min(at_once, number - done), rng)
            for done in range(0, number, at_once)
        ]
        return np.concatenate(parts)

    def at_least(self, runtimes: Runtimes, key_of: KeyOf) -> float:
        """The longest way of means, which the mean of the longest way is never below (lemma 1)."""
        ends: list[float] = [0.0] * len(self.parents)
        for level in self.levels:
            for task in level:
                begun = max((ends[one] for one in self.parents[task]), default=0.0)
                ends[task] = begun + runtimes[key_of(task)].mean
        return max(ends, default=0.0)

    def measured(self, runtimes: Runtimes, key_of: KeyOf, rng: Generator) -> Makespan:
        """The makespan by the reduction where that is near enough, else by simulation."""
        found = self.makespan(Evaluation(runtimes), key_of)
        if self.reduction.exact:
            return Makespan(found, 0.0, simulated=False, between=(found.mean, found.mean))
        between = self.at_least(runtimes, key_of), found.mean
        drawn = self.draws(runtimes, key_of, DRAWS, rng)
        too_long = found.mean / float(drawn.mean()) - 1 if drawn.any() else 0.0
        if too_long > TOLERANCE:
            return Makespan(from_samples(drawn), 0.0, simulated=True, between=between)
        return Makespan(found, too_long, simulated=False, between=between)

    def _drawn(
        self, runtimes: Runtimes, keys: list[Hashable], number: int, rng: Generator
    ) -> Floats:
        ends = np.zeros((len(keys), number))
        for level in self.levels:
            ends[list(level)] = rng.random((len(level), number))
            for key in {keys[task] for task in level}:
                alike = [task for task in level if keys[task] == key]
                ends[alike] = runtimes[key].at(ends[alike])
            waits = [len(self.parents[task]) for task in level]
            if waits[0]:  # a level's tasks all have parents, or none has
                before = [one for task in level for one in self.parents[task]]
                starts = np.concatenate([[0], np.cumsum(waits)[:-1]])
                ends[list(level)] += np.maximum.reduceat(ends[before], starts, axis=0)
        longest: Floats = np.max(ends, axis=0, initial=0.0)
        return longest
