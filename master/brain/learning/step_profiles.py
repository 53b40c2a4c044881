"""Runtimes of a workflow's steps, as seen on each cluster: tasks of a step are alike, steps not."""

import math
from collections.abc import Callable, Mapping
from statistics import pvariance
from typing import Final

from bats.master.brain.learning.machine_speeds import LEAST_TASKS, Worked

KEPT: Final = 256
"""Runtimes of a step and a cluster that are kept as they are, the first ones."""


class _Seen:
    __slots__ = ("count", "kept", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.kept: list[float] = []


class StepProfiles:
    __slots__ = ("_by_machine", "_seen", "_sums")

    def __init__(self, steps: int) -> None:
        self._seen: list[dict[int, _Seen]] = [{} for _ in range(steps)]
        self._by_machine: dict[int, dict[int, tuple[int, float]]] = {}  # of its steps: tasks, time
        self._sums: dict[tuple[int, int], tuple[float, float]] = {}  # of clusters being compared

    def add(self, step: int, cluster: int, seconds: float, machine: int = 0) -> None:
        of_machine = self._by_machine.setdefault(machine, {})
        tasks, total = of_machine.get(step, (0, 0.0))
        of_machine[step] = tasks + 1, total + seconds
        compared = [pair for pair in self._sums if cluster in pair]
        for pair in compared:
            self._count(pair, step, -1)
        seen = self._seen[step].setdefault(cluster, _Seen())
        seen.count += 1
        seen.total += seconds
        for pair in compared:
            self._count(pair, step, 1)
        if len(seen.kept) < KEPT:
            seen.kept.append(seconds)

    def count(self, step: int) -> int:
        return sum(seen.count for seen in self._seen[step].values())

    def mean(self, step: int, canonical: Callable[[int, float], float]) -> float | None:
        """The mean runtime on the canonical cluster; None while nothing is known.

        `canonical` converts a cluster's runtime to that one.
        """
        count = self.count(step)
        if not count:
            return None
        whole = sum(
            seen.count * canonical(cluster, seen.total / seen.count)
            for cluster, seen in self._seen[step].items()
        )
        return whole / count

    def on(self, cluster: int) -> tuple[int, float, float]:
        """Tasks that ended there, their seconds, and those that the means of their steps say."""
        tasks, seconds, usual = 0, 0.0, 0.0
        for step, seen in enumerate(self._seen):
            if (here := seen.get(cluster)) is not None:
                tasks += here.count
                seconds += here.total
                whole = sum(one.total for one in seen.values())
                usual += here.count * whole / self.count(step)
        return tasks, seconds, usual

    def ratio(self, base: int, cluster: int) -> float | None:
        """The time of tasks on a cluster to that on another, by the means of steps seen on both.

        None if no step was. Each step counts by its time and as often as it was seen on both.
        """
        pair = base, cluster
        if pair not in self._sums:
            self._sums[pair] = 0.0, 0.0
            for step in range(len(self._seen)):
                self._count(pair, step, 1)
        there, longer = self._sums[pair]
        return longer / there if there > 0 and longer > 0 else None

    def _count(self, pair: tuple[int, int], step: int, sign: int) -> None:
        """Add a step to the sums of two clusters, if it was seen on both, or take it out."""
        base, here = (self._seen[step].get(cluster) for cluster in pair)
        if base is not None and here is not None:
            usual, seconds = _compared((base.count, base.total), (here.count, here.total))
            there, longer = self._sums[pair]
            self._sums[pair] = there + sign * usual, longer + sign * seconds

    def worked(self, machine: int, cluster: int) -> Worked:
        """The tasks that it ended, each as long as against the mean of its step on that cluster.

        Steps of which next to nothing ran there say nothing: their mean is the machine's own.
        """
        tasks, longer = 0, 0.0
        for step, (count, seconds) in self._by_machine.get(machine, {}).items():
            seen = self._seen[step].get(cluster)
            if seen is not None and seen.count >= LEAST_TASKS and seen.total > 0:
                tasks += count
                longer += seconds * seen.count / seen.total
        return Worked(tasks, longer)

    def spread(self, cluster: int) -> tuple[int, float]:
        """The tasks, beyond one of each step, that tell how runtimes vary on a cluster, and the
        variance of their logarithms around the means of their steps.
        """
        known, squares = 0, 0.0
        for seen in (of_step[cluster] for of_step in self._seen if cluster in of_step):
            if len(seen.kept) > 1:
                known += len(seen.kept) - 1
                squares += len(seen.kept) * pvariance([math.log(one) for one in seen.kept])
        return known, squares / known if known else 0.0

    def here(self, step: int, cluster: int) -> list[float]:
        """Runtimes of its tasks on that cluster."""
        seen = self._seen[step].get(cluster)
        return list(seen.kept) if seen is not None else []

    def sample(self, step: int, canonical: Callable[[int, float], float]) -> list[float]:
        """Runtimes on the canonical cluster."""
        return [
            canonical(cluster, seconds)
            for cluster, seen in self._seen[step].items()
            for seconds in seen.kept
        ]


def ratio_of_steps(
    base: Mapping[int, tuple[int, float]], here: Mapping[int, tuple[int, float]]
) -> float | None:
    """The time of tasks on a cluster to that on another; None if no step was seen on both.

    Of each step it is known how many of its tasks ended there and how many seconds they took.
    """
    there = longer = 0.0
    for step in sorted(base.keys() & here.keys()):
        usual, seconds = _compared(base[step], here[step])
        there += usual
        longer += seconds
    return longer / there if there > 0 and longer > 0 else None


def _compared(base: tuple[int, float], here: tuple[int, float]) -> tuple[float, float]:
    """The seconds of a step on two clusters, as if equally many of its tasks had run on each."""
    (before, usual), (count, seconds) = base, here
    weight = before * count / (before + count)
    return weight * usual / before, weight * seconds / count
