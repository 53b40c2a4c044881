"""Tasks that can be begun, and which of them is next."""

import random
from array import array
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

    def __len__(self) -> int:
        return len(self._pool)

    def __iter__(self) -> Iterator[int]:
        return iter(self._pool)


MANY: Final = 1 << 16
"""Tasks of a bag from which on neighbours go together: fewer results than these stay in memory."""

STRETCH: Final = 64
"""Neighbours that go together: their results fill some pages of the table."""

FIRST: Final = 10_000
"""Tasks of such a bag that chance picks one by one all the same: what is known stems from these."""


class InStretches(Ready):
    """Of a large bag: at first any task, then any 64 neighbours that are left, until none is.

    Results are kept by their tasks' numbers. Each of a million tasks in any order is one more page
    to be written, and its result cost twice that of the first.
    """

    __slots__ = ("_back", "_begins", "_current", "_first", "_rng", "_stretches", "_taken", "_tasks")

    def __init__(self, tasks: int, rng: random.Random) -> None:
        count = -(-tasks // STRETCH)
        self._tasks = tasks
        self._rng = rng
        self._stretches = array("I", range(count))  # of which some are left
        self._taken = bytearray(count)
        self._begins = bytearray(rng.randbytes(count))  # where in it a stretch begins
        self._first = FIRST
        self._current: list[int] = []
        self._back = AtRandom((), rng)  # drawn before, and ready again

    def add(self, task: int) -> None:
        self._back.add(task)

    def take(self) -> int | None:
        if not self._current:
            new, back = len(self._stretches) * STRETCH, len(self._back)
            if self._rng.random() * (new + back) < back:
                return self._back.take()
            if not new:
                return None
            self._current = self._drawn()
        return self._current.pop()

    def _drawn(self) -> list[int]:
        """One task while they are few that were begun, then what is left of a stretch."""
        place = int(self._rng.random() * len(self._stretches))
        stretch = self._stretches[place]
        left = self._left(stretch)
        drawn = left[:1] if self._first else left
        self._first -= bool(self._first)
        self._taken[stretch] += len(drawn)
        if drawn == left:
            self._stretches[place] = self._stretches[-1]
            self._stretches.pop()
        return drawn

    def clear(self) -> None:
        self._stretches = array("I")
        self._current = []
        self._back.clear()

    def __iter__(self) -> Iterator[int]:
        yield from self._current
        yield from self._back
        for stretch in self._stretches:
            yield from self._left(stretch)

    def _left(self, stretch: int) -> list[int]:
        """The tasks of a stretch that were not taken yet, the next of them first."""
        start = stretch * STRETCH
        length = min(STRETCH, self._tasks - start)
        begin = self._begins[stretch]
        places = range(begin + self._taken[stretch], begin + length)
        return [start + place % length for place in places]


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
