"""Runs of a workflow through a mix, with runtimes drawn step by step: what it may take and cost.

Tasks are begun as they become ready, by chance, on any place that is free. A machine is asked for
when more is ready than there are places, joins after its start, and is paid for as long as it has
work, ATU by ATU; one without work when paid time ends is let go, and asked for anew. Of a step of
which nothing is known the mean is drawn widely around that of the steps that are known.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bats.common.billing import first_atus
from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.learning.still_running import ends_drawn
from bats.master.brain.prediction.distributions import possible

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

TASKS_RUN: Final = 300_000
"""Tasks times runs: a few tenths of a second."""

MOST_RUNS: Final = 200
FEWEST_RUNS: Final = 20

WIDELY: Final = 1.0
"""σ of the logarithm of the mean of a step of which nothing is known; on average it is that of the
tasks that are known. Steps of recorded workflows lie lower by .8 and differ by 1.8 from the tasks
before them.
"""

ALONE: Final = 0.5
"""Likewise of a step of which one runtime is known; of n it falls with √n."""

FEW: Final = 2
"""Runtimes of a step that tell nothing of its distribution."""

AMONG: Final = 0.3
"""σ of the logarithm among the tasks of such a step."""

YET: Final = 0.5
"""Of a mean: what a task beyond all that is known takes yet, on average."""

WAYS: Final = 8
"""In which what runs may end, for one prediction."""

NOWHERE: Final = -1
_ENDS, _JOINS, _LAPSES = range(3)  # of what happens at one moment the first comes first


@dataclass(frozen=True, slots=True)
class OrderLeft:
    """The rest of a workflow's order, its tasks numbered anew, parents before children."""

    step: Sequence[int]  # of each task; one past the last step is that of barriers
    children: Sequence[Sequence[int]]
    waits: Sequence[int]  # how many of those left each task waits for
    samples: Sequence[Sequence[float]]  # of each step, on the canonical cluster
    running: Sequence[tuple[int, int, float]] = ()
    """Tasks that run: where, and for how long by now, had it been on the canonical cluster."""
    factors: Sequence[float] = ()  # a cluster's runtimes, to those of the canonical one


@dataclass(frozen=True, slots=True)
class Place:
    """One slot of a machine."""

    machine: int
    cluster: int
    factor: float  # its runtimes, to those of the canonical cluster
    busy: bool = False  # with a task that runs now


@dataclass(frozen=True, slots=True)
class Hired:
    """A machine, by what its time costs; one that is not there can be had when it is needed."""

    offering: Offering
    standing: bool = False
    paid: float = 0.0  # until then from now, if it is there
    start_seconds: float = 0.0  # from request to first task
    boot_seconds: float = 0.0  # the part of that which is charged


def rollouts(
    order: OrderLeft,
    places: Sequence[Place],
    machines: Sequence[Hired],
    seed: int,
    *,
    quick: bool = False,
) -> tuple[list[float], list[Money]]:
    """Makespans and costs of some runs, in no order; `quick`: of a fifth of them."""
    rng = random.Random(seed)
    runs = max(FEWEST_RUNS, min(MOST_RUNS, TASKS_RUN // max(1, len(order.step))))
    runs = runs // 5 if quick else runs
    makespans, costs = [], []
    chances = np.random.default_rng(seed)
    for seconds in drawn(order, runs, chances).T.tolist():
        world = _World(order, places, machines, seconds, rng)
        makespans.append(world.end)
        costs.append(Money(world.cost))
    return makespans, costs


def drawn(order: OrderLeft, runs: int, rng: Generator) -> NDArray[np.float64]:
    """Runtimes of each task (a row) for each run, of distributions that samples may stem from.

    Tasks of a step without a sample of its own, one past the last, take none: barriers.
    """
    step_of = np.asarray(order.step, dtype=np.intp)
    seconds = np.zeros((len(step_of), runs))
    known = [x for sample in order.samples for x in sample]
    average = math.fsum(known) / len(known) if known else 1.0
    running: dict[int, list[tuple[int, float]]] = {}
    for task, _, tau in order.running:
        running.setdefault(int(step_of[task]), []).append((task, tau))
    for step, sample in enumerate(order.samples):
        tasks = np.flatnonzero(step_of == step)
        n = len(sample)
        if n > FEW:
            _draw_known(seconds, tasks, sample, running.get(step, ()), rng)
            continue
        if n:
            means = math.fsum(sample) / n * np.exp(rng.normal(0.0, ALONE / math.sqrt(n), runs))
        else:
            means = average * np.exp(rng.normal(-(WIDELY**2) / 2, WIDELY, runs))
        if step in running:  # they tell how long those beside them take at least
            least = max(tau for _, tau in running[step])
            means = np.where(means > least, means, least * (1 + YET * rng.exponential(size=runs)))
        seconds[tasks] = means * np.exp(rng.normal(0.0, AMONG, (tasks.size, runs)))
        for task, tau in running.get(step, ()):
            yet = YET * np.maximum(seconds[task], tau) * rng.exponential(size=runs)
            seconds[task] = np.where(seconds[task] > tau, seconds[task], tau + yet)
    return seconds


def _draw_known(
    seconds: NDArray[np.float64],
    tasks: NDArray[np.intp],
    sample: Sequence[float],
    running: Sequence[tuple[int, float]],
    rng: Generator,
) -> None:
    """Of a step with a sample: those that run end in several ways, and each tells of the others."""
    parts = np.array_split(np.arange(seconds.shape[1]), WAYS if running else 1)
    for part in (one for one in parts if one.size):
        ends = ends_drawn(sample, [tau for _, tau in running], rng) if running else []
        draws = possible(np.asarray([*sample, *ends], dtype=float), part.size, rng)
        seconds[np.ix_(tasks, part)] = draws.tasks(tasks.size, rng)
        for (task, _), end in zip(running, ends, strict=True):
            seconds[task, part] = end


class _World:
    """One run: the time at which all have ended, and the price of all ATUs bought from now on."""

    def __init__(
        self,
        order: OrderLeft,
        places: Sequence[Place],
        machines: Sequence[Hired],
        seconds: Sequence[float],
        rng: random.Random,
    ) -> None:
        self.end, self.cost = 0.0, 0
        self._order, self._places, self._machines = order, places, machines
        self._seconds, self._rng = seconds, rng
        self._waits = list(order.waits)
        self._left = len(order.waits)
        self._slots: list[list[int]] = [[] for _ in machines]
        for number, place in enumerate(places):
            self._slots[place.machine].append(number)
        self._idle: list[int] = []  # places that can take a task now
        self._busy_until = [0.0] * len(places)
        self._running: dict[int, list[int]] = {}  # the places of each task that runs, in the mix
        self._began: dict[int, float] = {}
        self._ends: dict[int, float] = {}
        self._speeds: dict[int, float] = {}  # the least factor of its places
        self._alike = len({one.factor for one in places}) < 2
        self._paid_until = [math.inf if one.offering.free else one.paid for one in machines]
        self._away = [(max(places[k].factor for k in slots), number)
                      for number, slots in enumerate(self._slots)
                      if not machines[number].standing]  # fmt: skip
        heapq.heapify(self._away)
        self._coming = 0  # places of machines that were asked for
        self._agenda: list[tuple[float, int, int]] = []
        self._go(self._begin())

    def _begin(self) -> list[int]:
        """Tasks that run go on, on their places where these are kept; what is ready by now."""
        kept: dict[int, list[int]] = {}
        for place, one in enumerate(self._places):
            if self._machines[one.machine].standing:
                if one.busy:
                    kept.setdefault(one.cluster, []).append(place)
                else:
                    self._idle.append(place)
        begun = set()
        for task, cluster, tau in self._order.running:
            begun.add(task)
            where = kept[cluster].pop() if kept.get(cluster) else NOWHERE
            factor = self._order.factors[cluster]
            rest = max(0.0, self._seconds[task] - tau) * factor
            self._begin_one(task, where, 0.0, rest, factor)
            self._began[task] = -tau * factor
        for left in kept.values():
            self._idle += left
        for number, machine in enumerate(self._machines):
            if machine.standing:
                self._put(self._paid_until[number], _LAPSES, number)
        return [task for task, count in enumerate(self._waits) if not count and task not in begun]

    def _put(self, at: float, what: int, x: int) -> None:
        if at < math.inf:
            heapq.heappush(self._agenda, (at, what, x))

    def _begin_one(self, task: int, place: int, now: float, seconds: float, factor: float) -> None:
        self._running[task] = [place] if place >= 0 else []
        self._began[task], self._speeds[task] = now, factor
        self._keep_busy(task, now + seconds)

    def _keep_busy(self, task: int, until: float) -> None:
        self._ends[task] = until
        for place in self._running[task]:
            self._busy_until[place] = until
        self._put(until, _ENDS, task)

    def _go(self, ready: list[int]) -> None:
        now = 0.0
        while True:
            self._begin_some(ready, now)
            self._ask(len(ready), now)
            if not self._left:
                return
            now, what, x = heapq.heappop(self._agenda)
            if what == _ENDS:
                places = self._running.pop(x, None)
                if places is None:
                    continue  # the slower one of two
                self.end = now
                self._idle += places
                self._count_out(x, ready)
            elif what == _JOINS:
                self._idle += self._slots[x]
                self._coming -= len(self._slots[x])
            else:
                self._lapse(x, now)

    def _count_out(self, task: int, ready: list[int]) -> None:
        """A barrier ends with the last that it waits for, and takes no place."""
        ended = [task]
        for one in ended:  # it grows meanwhile
            for child in self._order.children[one]:
                self._waits[child] -= 1
                if not self._waits[child]:
                    barrier = self._order.step[child] == len(self._order.samples)
                    (ended if barrier else ready).append(child)
        self._left -= len(ended)

    def _begin_some(self, ready: list[int], now: float) -> None:
        """Any that is ready, on any place that is free."""
        while ready and self._idle:
            task, place = self._drawn(ready), self._drawn(self._idle)
            factor = self._places[place].factor
            self._begin_one(task, place, now, self._seconds[task] * factor, factor)
        if self._idle and not self._alike:
            self._copy_some(now)

    def _copy_some(self, now: float) -> None:
        """Places without a task run those again that run on slower ones only, the latest first.

        The engine does not know how long they take: it copies whether that helps or not, and those
        with the most left by what it knows first.
        """
        for place in sorted(self._idle, key=lambda one: self._places[one].factor):
            factor = self._places[place].factor
            slower = [task for task in self._running if self._speeds[task] > factor * (1 + 1e-9)]
            if not slower:
                return
            task = max(slower, key=self._began.__getitem__)
            self._idle.remove(place)
            self._speeds[task] = factor
            self._running[task].append(place)
            if (until := now + self._seconds[task] * factor) < self._ends[task]:
                self._keep_busy(task, until)

    def _drawn(self, some: list[int]) -> int:
        k = int(self._rng.random() * len(some))
        some[k], some[-1] = some[-1], some[k]
        return some.pop()

    def _ask(self, ready: int, now: float) -> None:
        """Ask for machines, the fastest first, while more is ready than there will be places."""
        while self._away and ready > self._coming:
            _, number = heapq.heappop(self._away)
            machine = self._machines[number]
            joins = now + machine.start_seconds
            offering = machine.offering
            if not offering.free:
                bought = first_atus(offering)
                self.cost += bought * offering.price
                self._paid_until[number] = (
                    joins - machine.boot_seconds + bought * offering.atu_seconds
                )
            self._coming += len(self._slots[number])
            self._put(joins, _JOINS, number)
            self._put(max(joins, self._paid_until[number]), _LAPSES, number)

    def _lapse(self, number: int, now: float) -> None:
        """Paid time is over: one that works goes on to the end of the ATU in which it has done."""
        offering = self._machines[number].offering
        if (more := max(self._busy_until[one] for one in self._slots[number]) - now) > 0:
            bought = math.ceil(more / offering.atu_seconds * (1 - 1e-9))
            self.cost += bought * offering.price
            self._paid_until[number] = now + bought * offering.atu_seconds
            self._put(self._paid_until[number], _LAPSES, number)
            return
        gone = set(self._slots[number])
        self._idle = [place for place in self._idle if place not in gone]
        for places in self._running.values():  # with copies that are none the sooner there
            places[:] = [place for place in places if place not in gone]
        heapq.heappush(self._away, (max(self._places[k].factor for k in gone), number))
