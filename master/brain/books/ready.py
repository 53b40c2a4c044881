"""Tasks that can be begun, and which of them is next."""

import random
from array import array
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol


class Ready(Protocol):
    """The choice of the next task among those that wait for nothing but a machine."""

    def add(self, task: int) -> None: ...

    def take(self) -> int | None:
        """The next task, which is in here no more; None when there is none."""
        ...

    def clear(self) -> None: ...

    def __iter__(self) -> Iterator[int]: ...


PILOT: Final = 3
"""Tasks of each step that go first, so that late steps are known soon."""


class AtRandom(Ready):
    """Any of them: so a sample of those that went first tells of the others."""

    __slots__ = ("_pool", "_rng")

    def __init__(self, tasks: Iterable[int], rng: random.Random) -> None:
        self._pool = array("I", tasks)
        self._rng = rng

    def add(self, task: int) -> None:
        self._pool.append(task)

    def take(self) -> int | None:
        pool = self._pool
        if not pool:
            return None
        k = int(self._rng.random() * len(pool))
        task = pool[k]
        pool[k] = pool[-1]
        pool.pop()
        return task

    def clear(self) -> None:
        self._pool = array("I")

    def __iter__(self) -> Iterator[int]:
        return iter(self._pool)


class PilotThenRandom(Ready):
    """Some of each step as soon as they are ready, of the step freed last first; then any of them.

    So some chains go through all steps early. Of many that become ready at once chance picks those.
    """

    def __init__(
        self, tasks: Iterable[int], rng: random.Random, step_of: Callable[[int], int], steps: int
    ) -> None:
        self._rng = rng
        self._step_of = step_of
        self._begun = [0] * steps
        self._offered = [0] * steps
        self._early: dict[int, list[int]] = {}  # by step: some of those that wait to be the first
        self._ahead: set[int] = set()  # taken out of turn, and still among all
        self._all = AtRandom((), rng)
        for task in tasks:
            self.add(task)

    def add(self, task: int) -> None:
        if task in self._ahead:
            self._ahead.remove(task)
        else:
            self._all.add(task)
        step = self._step_of(task)
        if self._begun[step] >= PILOT:
            return
        self._offered[step] += 1
        mine = self._early.setdefault(step, [])
        if len(mine) < PILOT:
            mine.append(task)
        elif (place := int(self._rng.random() * self._offered[step])) < PILOT:
            mine[place] = task

    def take(self) -> int | None:
        if self._early:
            step = next(reversed(self._early))
            task = self._early[step].pop()
            self._begun[step] += 1
            if not self._early[step] or self._begun[step] >= PILOT:
                del self._early[step]
            self._ahead.add(task)
            return task
        while (next_one := self._all.take()) is not None:
            if next_one not in self._ahead:
                return next_one
            self._ahead.remove(next_one)
        return None

    def clear(self) -> None:
        self._all.clear()
        self._early.clear()
        self._ahead.clear()

    def __iter__(self) -> Iterator[int]:
        return (task for task in self._all if task not in self._ahead)


class LongestFirst(Ready):
    """The longest by what is foreseen of each: short ones at the end leave no machine alone.

    Chance orders those that are alike.
    """

    def __init__(
        self, tasks: Iterable[int], rng: random.Random, seconds: Callable[[int], float]
    ) -> None:
        self._seconds = seconds
        self._rising = list(tasks)
        rng.shuffle(self._rising)
        self._rising.sort(key=seconds)

    def add(self, task: int) -> None:
        insort(self._rising, task, key=self._seconds)

    def take(self) -> int | None:
        return self._rising.pop() if self._rising else None

    def take_within(self, seconds: float) -> int | None:
        """The longest of those that should take no longer than that."""
        place = bisect_right(self._rising, seconds, key=self._seconds)
        return self._rising.pop(place - 1) if place else None

    @property
    def longest(self) -> int | None:
        """The one that is next."""
        return self._rising[-1] if self._rising else None

    def clear(self) -> None:
        self._rising = []

    def __iter__(self) -> Iterator[int]:
        return iter(self._rising)
