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
    __slots__ = ("_by_machine", "_seen")

    def __init__(self, steps: int) -> None:
        self._seen: list[dict[int, _Seen]] = [{} for _ in range(steps)]
        self._by_machine: dict[int, dict[int, tuple[int, float]]] = {}  # of its steps: tasks, time

    def add(self, step: int, cluster: int, seconds: float, machine: int = 0) -> None:
        of_machine = self._by_machine.setdefault(machine, {})
        tasks, total = of_machine.get(step, (0, 0.0))
        of_machine[step] = tasks + 1, total + seconds
        seen = self._seen[step].setdefault(cluster, _Seen())
        seen.count += 1
        seen.total += seconds
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
        return ratio_of_steps(
            {k: (one.count, one.total) for k, of in enumerate(self._seen) if (one := of.get(base))},
            {
                k: (one.count, one.total)
                for k, of in enumerate(self._seen)
                if (one := of.get(cluster))
            },
        )

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
    """The same of tasks and their seconds, by steps."""
    there = longer = 0.0
    for step in sorted(base.keys() & here.keys()):
        (before, usual), (count, seconds) = base[step], here[step]
        weight = before * count / (before + count)
        there += weight * usual / before
        longer += weight * seconds / count
    return longer / there if there > 0 and longer > 0 else None
