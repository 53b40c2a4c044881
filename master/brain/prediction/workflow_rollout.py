"""Runs of a workflow through a mix, with runtimes drawn step by step: what it may take and cost.

Tasks are begun as they become ready, by chance, on whichever place is free first. A machine is paid
for as long as it has work, ATU by ATU; one without work when paid time ends is let go, and hired
anew when it is needed. Of a step of which nothing is known the mean is drawn widely around that of
the steps that are known.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.prediction.distributions import possible

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

TASKS_RUN: Final = 300_000
"""Tasks times runs: a few tenths of a second."""

MOST_RUNS: Final = 200
FEWEST_RUNS: Final = 20

WIDELY: Final = 1.0
"""σ of the logarithm of the mean of a step of which nothing is known."""

ALONE: Final = 0.5
"""Likewise of a step of which one runtime is known; of n it falls with √n."""

FEW: Final = 2
"""Runtimes of a step that tell nothing of its distribution."""

AMONG: Final = 0.3
"""σ of the logarithm among the tasks of such a step."""


@dataclass(frozen=True, slots=True)
class OrderLeft:
    """The rest of a workflow's order, its tasks numbered anew, parents before children."""

    step: Sequence[int]  # of each task; one past the last step is that of barriers
    children: Sequence[Sequence[int]]
    waits: Sequence[int]  # how many of those left each task waits for
    samples: Sequence[Sequence[float]]  # of each step, on the canonical cluster
    running: Sequence[tuple[int, float]] = ()  # tasks that run on places to come, and their rest


@dataclass(frozen=True, slots=True)
class Place:
    """One slot of a machine."""

    machine: int
    factor: float  # its runtimes, to those of the canonical cluster
    ready: float  # when it can take a task


@dataclass(frozen=True, slots=True)
class Hired:
    """A machine, by what its time costs."""

    offering: Offering
    uptime: float  # charged so far
    atus: int  # paid


def rollouts(
    order: OrderLeft,
    places: Sequence[Place],
    machines: Sequence[Hired],
    seed: int,
    *,
    quick: bool = False,
) -> tuple[list[float], list[Money]]:
    """Makespans and costs of some runs, in no order; `quick`: of a tenth of them."""
    rng = random.Random(seed)
    runs = max(FEWEST_RUNS, min(MOST_RUNS, TASKS_RUN // max(1, len(order.step))))
    runs = runs // 5 if quick else runs
    makespans, costs = [], []
    step_of = np.asarray(order.step, dtype=np.intp)
    drawn = drawn_by_step(step_of, order.samples, runs, np.random.default_rng(seed))
    for seconds in drawn.T.tolist():
        makespan, busy = _run(order, places, seconds, rng)
        makespans.append(makespan)
        costs.append(_cost(machines, busy))
    return makespans, costs


def drawn_by_step(
    step_of: NDArray[np.intp], samples: Sequence[Sequence[float]], runs: int, rng: Generator
) -> NDArray[np.float64]:
    """Runtimes of each task (a row) for each run, of distributions that samples may stem from.

    Tasks of a step without a sample of its own, one past the last, take none: barriers.
    """
    seconds = np.zeros((len(step_of), runs))
    known = [x for sample in samples for x in sample]
    average = math.fsum(known) / len(known) if known else 1.0
    for step, sample in enumerate(samples):
        tasks = np.flatnonzero(step_of == step)
        n = len(sample)
        if n > FEW:
            draws = possible(np.asarray(sample, dtype=float), runs, rng)
            seconds[tasks] = draws.tasks(tasks.size, rng)
        elif tasks.size:
            mean = math.fsum(sample) / n if n else average
            means = mean * np.exp(rng.normal(0.0, ALONE / math.sqrt(n) if n else WIDELY, runs))
            seconds[tasks] = means * np.exp(rng.normal(0.0, AMONG, (tasks.size, runs)))
    return seconds


def _run(
    order: OrderLeft, places: Sequence[Place], seconds: Sequence[float], rng: random.Random
) -> tuple[float, list[list[tuple[float, float]]]]:
    """The makespan, and when each machine had work."""
    machines = max(place.machine for place in places) + 1
    busy: list[list[tuple[float, float]]] = [[] for _ in range(machines)]
    waits = list(order.waits)
    free = [(place.ready, number) for number, place in enumerate(places)]
    heapq.heapify(free)
    running: list[tuple[float, int, int]] = []
    begun = set()
    for task, rest in order.running:
        begun.add(task)
        heapq.heappush(running, (rest, task, -1))
    ready = [task for task, count in enumerate(waits) if not count and task not in begun]
    now = end = 0.0
    while ready or running:
        while ready and free and (free[0][0] <= now or not running):
            since, place = heapq.heappop(free)
            k = int(rng.random() * len(ready))
            ready[k], ready[-1] = ready[-1], ready[k]
            task = ready.pop()
            start = max(now, since)
            until = start + seconds[task] * places[place].factor
            busy[places[place].machine].append((start, until))
            heapq.heappush(running, (until, task, place))
        if not running:
            break
        if ready and free and free[0][0] < running[0][0]:
            now = free[0][0]
            continue
        now, task, place = heapq.heappop(running)
        end = max(end, now)
        if place >= 0:
            heapq.heappush(free, (now, place))
        for child in order.children[task]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    return end, busy


def _cost(machines: Sequence[Hired], busy: Sequence[Sequence[tuple[float, float]]]) -> Money:
    """The price of the ATUs in which machines have work, beyond those that are paid."""
    total = 0
    for machine, spells in zip(machines, busy, strict=True):
        offering = machine.offering
        if offering.free or not spells:
            continue
        atu = offering.atu_seconds
        paid = machine.atus * atu - machine.uptime  # until then, from now
        bought = 0
        for start, until in sorted(spells):
            paid = max(paid, start)
            if until > paid:
                more = math.ceil((until - paid) / atu * (1 - 1e-9))
                bought += more
                paid += more * atu
        total += bought * offering.price
    return Money(total)
