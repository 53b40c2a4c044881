"""Runtimes of a workflow's steps, as seen on each cluster: tasks of a step are alike, steps not."""

from collections.abc import Callable
from typing import Final

KEPT: Final = 256
"""Runtimes of a step and a cluster that are kept as they are, the first ones."""


class _Seen:
    __slots__ = ("count", "kept", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.kept: list[float] = []


class StepProfiles:
    __slots__ = ("_seen",)

    def __init__(self, steps: int) -> None:
        self._seen: list[dict[int, _Seen]] = [{} for _ in range(steps)]

    def add(self, step: int, cluster: int, seconds: float) -> None:
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

    def sample(self, step: int, canonical: Callable[[int, float], float]) -> list[float]:
        """Runtimes on the canonical cluster."""
        return [
            canonical(cluster, seconds)
            for cluster, seen in self._seen[step].items()
            for seconds in seen.kept
        ]
