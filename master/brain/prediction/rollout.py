"""Runs a bag through a mix many times at once: the slot that is free first takes the next task.

One row is one run. All rows step together, task by task, so that numpy does the work. Runtimes
are canonical, those of cluster 0; lines convert them. A row that has fewer slots than others fills
up with slots that are never free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.learning.regression import SHORTEST_SECONDS, Line

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.intp]"

NEVER: Final = math.inf
RUNS_AT_ONCE: Final = 128  # so many fit the cache


class Lines:
    """The lines from canonical runtimes to each cluster's, for arrays."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.beta0: Floats = np.array([line.beta0 for line in lines])
        self.beta1: Floats = np.array([line.beta1 for line in lines])
        self._least: Floats = np.array([line.least for line in lines])
        self._bends = bool(np.any(self.beta0 < 0))
        self._straight = not bool(np.any(self.beta0))

    def convert(self, kind: Ints | int, canonical: Floats) -> Floats:
        """`Line.convert` of each."""
        there: Floats = self.beta1[kind] * canonical
        if self._straight:
            return there
        there += self.beta0[kind]
        if self._bends:
            short = (self.beta0[kind] < 0) & (canonical < self._least[kind])
            least = np.where(self._least[kind] > 0, self._least[kind], 1.0)
            bent = canonical * (self.beta0[kind] / least + self.beta1[kind])
            there = np.where(short, bent, there)
        return np.maximum(there, SHORTEST_SECONDS)

    def back(self, kind: Ints, seconds: Floats) -> Floats:
        """The canonical runtime of a task that takes so long there; nothing for what is shorter."""
        return np.maximum((seconds - self.beta0[kind]) / self.beta1[kind], 0.0)


@dataclass(slots=True)
class Slots:
    """The last task of each slot of each run: rows are runs, columns are slots."""

    kind: Ints  # which cluster
    ready: Floats  # when the slot can take its first task; NEVER where there is no slot
    begin: Floats
    end: Floats  # when it is free (again)
    task: Floats  # the canonical runtime of what it runs or ran; nan for nothing yet

    @classmethod
    def fresh(cls, kind: Ints, ready: Floats) -> Slots:
        return cls(kind, ready, ready.copy(), ready.copy(), np.full(ready.shape, np.nan))

    def rows(self, chosen: slice) -> Slots:
        return Slots(
            self.kind[chosen],
            self.ready[chosen],
            self.begin[chosen],
            self.end[chosen],
            self.task[chosen],
        )

    @property
    def busy(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.task)

    def makespans(self) -> Floats:
        """The end of the last task of each run."""
        return np.asarray(np.where(self.busy, self.end, 0.0).max(axis=1), dtype=np.float64)


def run_bag(slots: Slots, tasks: Floats, lines: Lines) -> None:
    """Give the tasks out, one per row of `tasks`, each to the slot that is free first.

    Column r belongs to run r: its tasks in the order in which they are taken.
    """
    rows = np.arange(slots.end.shape[0]) * slots.end.shape[1]
    free_at = np.ascontiguousarray(slots.end)
    end = free_at.reshape(-1)
    begin = np.ascontiguousarray(slots.begin).reshape(-1)
    task = np.ascontiguousarray(slots.task).reshape(-1)
    kind = np.ascontiguousarray(slots.kind).reshape(-1)
    for runtimes in tasks:
        at = free_at.argmin(axis=1)
        at += rows
        now = end[at]
        begin[at] = now
        task[at] = runtimes
        end[at] = now + lines.convert(kind[at], runtimes)
    shape = slots.end.shape
    slots.end, slots.begin, slots.task = free_at, begin.reshape(shape), task.reshape(shape)


class Copying(NamedTuple):
    """The copying of idle machines in the tail."""

    sooner: bool  # of what should end sooner there, the task with the longest rest
    chance: bool  # else of any task that runs on slower machines


NO_COPIES: Final = Copying(sooner=False, chance=False)
SOONER: Final = Copying(sooner=True, chance=False)
CHANCE: Final = Copying(sooner=False, chance=True)
SOONER_OR_CHANCE: Final = Copying(sooner=True, chance=True)


@dataclass(frozen=True, slots=True)
class Tail:
    makespan: Floats  # of each run
    used: Floats  # how long each slot was busy, with a copy or its own


class MeanBeyond:
    """tc: the mean of the canonical runtimes greater than τc, looked up on an even grid."""

    STEPS = 2048

    def __init__(self, canonical: Floats) -> None:
        known = np.sort(canonical)
        self.all = float(known.mean())
        self._top = float(known[-1])
        grid = np.linspace(0.0, self._top, self.STEPS + 1)
        tails = np.concatenate([np.cumsum(known[::-1])[::-1], [0.0]])
        place = np.searchsorted(known, grid, side="right")
        self._mean = tails[place] / np.maximum(known.size - place, 1)

    def __call__(self, tau: Floats) -> Floats:
        step = np.minimum(tau * (self.STEPS / self._top), self.STEPS).astype(np.intp)
        return np.maximum(self._mean[step], tau)


def replicate(
    slots: Slots,
    lines: Lines,
    mean_beyond: MeanBeyond,
    rng: Generator,
    copying: Copying = SOONER_OR_CHANCE,
) -> Tail:
    """Let slots that find the bag empty run copies of running tasks (T §5.1).

    Stochastic, else random: the task with the longest expected rest, if a copy is expected to take
    less; else any that runs on slower machines. The first result wins and frees the other slots.
    """
    parts = [
        _replicate(slots.rows(slice(first, first + RUNS_AT_ONCE)), lines, mean_beyond, rng, copying)
        for first in range(0, slots.end.shape[0], RUNS_AT_ONCE)
    ]
    return Tail(
        np.concatenate([part.makespan for part in parts]),
        np.concatenate([part.used for part in parts]),
    )


def _replicate(
    slots: Slots, lines: Lines, mean_beyond: MeanBeyond, rng: Generator, copying: Copying
) -> Tail:
    S = slots.end.shape[1]
    runs = np.arange(slots.end.shape[0])  # those not over yet
    typical = lines.convert(np.arange(lines.beta0.size), np.full(lines.beta0.size, mean_beyond.all))
    kind, begin, task = slots.kind, slots.begin, slots.task
    done = np.where(slots.busy, slots.end, -NEVER)  # of the last tasks, named by their first slot
    free = slots.end  # when the slot asks for a copy to run
    work = np.tile(np.arange(S), (runs.size, 1))  # the task that a slot is on
    expected = np.full(done.shape, NEVER)  # when the best copy of a task is expected to be done
    slowness = typical[kind]  # of the fastest machine that a task is on
    tail = Tail(np.empty(runs.size), slots.end.copy())
    while True:
        asking = free.min(axis=1) < NEVER
        if asking.sum() <= runs.size * 3 // 4:  # do not step through runs that are over
            tail.makespan[runs] = done.max(axis=1)
            if not asking.any():
                return tail
            runs, kind, begin, task = runs[asking], kind[asking], begin[asking], task[asking]
            done, free, work = done[asking], free[asking], work[asking]
            expected, slowness = expected[asking], slowness[asking]
            asking = asking[asking]
        row = np.arange(runs.size)
        s = free.argmin(axis=1)
        now = np.where(asking, free[row, s], 0.0)
        here = kind[row, s]
        tail.used[runs, s] = np.where(asking, now, tail.used[runs, s])

        running = (done > now[:, None]) & asking[:, None]
        elapsed = now[:, None] - begin
        likely = mean_beyond(lines.back(kind, elapsed))
        rest = np.minimum(lines.convert(kind, likely) - elapsed, expected - now[:, None])
        copy = lines.convert(here[:, None], likely)
        gain = np.where(running & (rest > copy) & copying.sooner, rest, -NEVER)
        j = gain.argmax(axis=1)
        chosen = gain[row, j] > -NEVER
        if copying.chance and not chosen.all():
            slower = running & (slowness > typical[here][:, None] * (1 + 1e-9))
            any_slower = np.where(slower, rng.random(slower.shape), -1.0)
            other = any_slower.argmax(axis=1)
            j = np.where(chosen, j, other)
            chosen |= any_slower[row, other] >= 0

        finish = now + lines.convert(here, task[row, j])
        wins = chosen & (finish < done[row, j])
        ends = np.where(wins, finish, done[row, j])
        done[row, j] = ends
        others = wins[:, None] & (work == j[:, None]) & (free > ends[:, None]) & (free < NEVER)
        free = np.where(others, ends[:, None], free)
        begun = row[chosen], j[chosen]
        expected[begun] = np.minimum(expected[begun], now[chosen] + copy[begun])
        slowness[begun] = np.minimum(slowness[begun], typical[here[chosen]])
        work[row[chosen], s[chosen]] = j[chosen]
        free[row, s] = np.where(chosen, ends, NEVER)
