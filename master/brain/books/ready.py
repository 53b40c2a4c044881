"""Tasks that can be begun, and which of them is next."""

import heapq
import random
from array import array
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from bats.master.brain.books.precedence import Precedence
from bats.master.brain.protocol.events import Order


class Ready(Protocol):
    """The choice of the next task among those that wait for nothing but a machine."""

    def add(self, task: int) -> None: ...

    def take(self) -> int | None:
        """The next task, which is in here no more; None when there is none."""
        ...

    def take_within(self, _seconds: float, /) -> int | None:
        """Likewise the longest that should take no longer; None where nobody knows of any."""
        return None

    def falling(self) -> Iterator[int]:
        """The longest first, where that is how they go; else none."""
        return iter(())

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

    def take_within(self, seconds: float, /) -> int | None:
        place = bisect_right(self._rising, seconds, key=self._seconds)
        return self._rising.pop(place - 1) if place else None

    def falling(self) -> Iterator[int]:
        return reversed(self._rising)

    def clear(self) -> None:
        self._rising = []

    def __iter__(self) -> Iterator[int]:
        return iter(self._rising)


class ByKind(Ready):
    """Any of those that a plan has for a kind of machine, whose turn is told before.

    Machines of other kinds help where more is ready of a step than its own kind has places for: so
    the one long task of a step waits for the fast machine, and of a thousand none waits in vain.
    """

    def __init__(
        self, rng: random.Random, step_of: Callable[[int], int], kinds: Sequence[Sequence[int]]
    ) -> None:
        self.kinds = kinds  # that each step has; without, any machine takes anything
        self._rng = rng
        self._step_of = step_of
        self._by_step: dict[int, AtRandom] = {}
        self._kind = 0
        self._places: Sequence[int] = ()

    def with_all(self, tasks: Sequence[int]) -> "ByKind":
        for task in tasks:
            self.add(task)
        return self

    def turn_to(self, kind: int, places: Sequence[int]) -> None:
        """The next is for a machine of that kind; of each kind there are so many places."""
        self._kind, self._places = kind, places

    def add(self, task: int) -> None:
        step = self._step_of(task)
        if step not in self._by_step:
            self._by_step[step] = AtRandom((), self._rng)
        self._by_step[step].add(task)

    def take(self) -> int | None:
        steps = [step for step, tasks in self._by_step.items() if len(tasks)]
        own = [step for step in steps if self._kind in self._bound_to(step)]
        for step in own or steps:
            tasks = self._by_step[step]
            if own or len(tasks) > sum(self._places[kind] for kind in self._bound_to(step)):
                return tasks.take()
        return None

    def _bound_to(self, step: int) -> Sequence[int]:
        return self.kinds[step] if step < len(self.kinds) else (self._kind,)

    def clear(self) -> None:
        self._by_step.clear()

    def __iter__(self) -> Iterator[int]:
        for tasks in self._by_step.values():
            yield from tasks


class ByRank(Ready):
    """The task of the longest way to the end first, or of the shortest; of equal ones any."""

    def __init__(
        self, tasks: Iterable[int], rng: random.Random, ranks: Sequence[float], *, shortest: bool
    ) -> None:
        self.ranks = ranks
        self._rng = rng
        self._sign = 1 if shortest else -1
        self._heap: list[tuple[float, float, int]] = []
        self._by_rank = sorted(range(len(ranks)), key=lambda task: -ranks[task])
        self._place = array("I", bytes(4 * len(ranks)))
        for place, task in enumerate(self._by_rank):
            self._place[task] = place
        self.critical = max(ranks, default=0.0)  # c
        self._begun = 0  # of those by rank, all before this one are begun
        for task in tasks:
            self.add(task)

    def add(self, task: int) -> None:
        heapq.heappush(self._heap, (self._sign * self.ranks[task], self._rng.random(), task))
        self._begun = min(self._begun, self._place[task])

    def take(self) -> int | None:
        return heapq.heappop(self._heap)[2] if self._heap else None

    def clear(self) -> None:
        self._heap.clear()

    def __iter__(self) -> Iterator[int]:
        return (task for _, _, task in self._heap)

    @property
    def next_rank(self) -> float:
        """The rank of the task that comes next; 0 if there is none."""
        return self._sign * self._heap[0][0] if self._heap else 0.0

    def longest_left(self, begun: Callable[[int], bool]) -> float:
        """The longest way to the end from a task that is not begun.

        What is tried again comes through `add`, before what it had cut off, whose ranks are lower.
        """
        while self._begun < len(self._by_rank) and begun(self._by_rank[self._begun]):
            self._begun += 1
        if self._begun == len(self._by_rank):
            return 0.0
        return self.ranks[self._by_rank[self._begun]]


def drawn(
    order: Precedence | None,
    tasks: Iterable[int],
    rng: random.Random,
    by: Order = Order.RANDOM,
    ranks: Sequence[float] = (),
) -> Ready:
    """These tasks, to be begun in that order. Of a bag, whose ranks are alike, any is next."""
    if order is None and isinstance(tasks, range) and len(tasks) >= MANY:
        return InStretches(len(tasks), rng)
    if order is None:
        return AtRandom(tasks, rng)
    if by is Order.RANDOM:
        return PilotThenRandom(tasks, rng, order.step_of, len(order.graph.steps))
    return ByRank(tasks, rng, ranks, shortest=by is Order.SHORTEST)
