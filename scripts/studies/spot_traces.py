"""Spot machines as they were really to be had: on-demand only, naive, with fallback, and ours.

`--data FILE` names recorded traces: a list of `{"trace", "gap_seconds", "runs": [[count, ticks]]}`,
how many of the machines asked for were to be had. Without it a few are drawn by chance.
"""

import heapq
import json
import math
import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from figures import Report

from bats.common.messages import MachineId
from bats.common.money import UNITS, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.commands import StartMachines
from bats.master.brain.protocol.events import Cause
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import NEVER, Conditions, Simulation, Worker

from .study import Options, Study, run_all

SPOT: Final = 0.33  # of the on-demand price
HOURLY: Final = 3.6  # on demand: a thousandth a second
BOOT_SECONDS: Final = 60.0
ON_DEMAND_SECONDS: Final = 8 * 3600.0  # that the bag takes on demand alone
TASKS: Final = (600.0, 3600.0)
SLACK: Final = 1.2  # of that time, which a deadline leaves
HALF: Final = 0.5
MOSTLY: Final = 0.6  # availability from which on the bar holds
ENOUGH: Final = 0.8
STARTS: Final = 4  # of a trace, at which the bag begins


@dataclass(frozen=True)
class Trace:
    name: str
    gap_seconds: float
    runs: tuple[tuple[int, int], ...]

    @property
    def machines(self) -> int:
        return max(count for count, _ in self.runs)

    @property
    def availability(self) -> float:
        ticks = sum(ticks for _, ticks in self.runs)
        return sum(count * ticks for count, ticks in self.runs) / ticks / self.machines

    def places(self) -> list[list[tuple[float, float]]]:
        """When each of the machines was to be had; the last ones come last and go first."""
        found: list[list[tuple[float, float]]] = [[] for _ in range(self.machines)]
        at = 0.0
        for count, ticks in self.runs:
            end = at + ticks * self.gap_seconds
            for place in found[:count]:
                if place and place[-1][1] == at:
                    place[-1] = place[-1][0], end
                else:
                    place.append((at, end))
            at = end
        return found


@dataclass(frozen=True)
class Came:
    seconds: float
    cost: float
    on_demand: float = 0.0  # of the cost


def study(report: Report, options: Options) -> None:
    traces = recorded(options.data) if options.data else drawn(options.seed)
    if options.quick:
        traces = traces[:3]
    jobs = [(trace, task) for trace in traces for task in TASKS]
    came = run_all(one, jobs, options, "spot-traces")
    good, wanted, possible, dearer, done = 0, 0, 0, 0, 0
    for (trace, task), (base, naive, fallback, ours) in zip(jobs, came, strict=True):
        name = f"{trace.name}, {trace.availability:.0%} to be had, tasks of {task / 60:.0f} min"
        for what, one_way in (("naive", naive), ("fallback", fallback), ("ours", ours)):
            report.figure(f"{name}: {what}, cost", None, _share(one_way.cost, base.cost), "%")
            report.figure(f"{name}: {what}, time", None, one_way.seconds / base.seconds, "×")
        done += ours.seconds < NEVER
        dearer += ours.cost > base.cost * (1 + 1e-9)
        if trace.availability >= MOSTLY:
            wanted += 1
            least = fmean(foreseen(trace, window, task) for window in windows(trace))
            report.figure(f"{name}: clairvoyant, cost", None, _share(least, base.cost), "%")
            possible += least <= (1 - HALF) * base.cost
            cheap = ours.cost <= (1 - HALF) * base.cost
            good += cheap and ours.seconds <= SLACK * base.seconds
    report.figure(
        f"half as dear within 1.2 × the time by who knew the trace, of {wanted}", None, possible
    )
    report.bar("cases that ours ends", len(jobs), done, done == len(jobs))
    report.bar("ours dearer than on-demand only, of all", 0, dearer, dearer == 0)
    report.bar(
        f"ours half as dear within 1.2 × the time, of {wanted} with 60 % to be had",
        ENOUGH * wanted, good, good >= ENOUGH * wanted,
    )  # fmt: skip


def _share(cost: float, of: float) -> float:
    return 100 * cost / of


def recorded(path: Path) -> list[Trace]:
    return [
        Trace(one["trace"], one["gap_seconds"], tuple(map(tuple, one["runs"])))
        for one in json.loads(path.read_text())
    ]


def drawn(seed: int) -> list[Trace]:
    """A miniature: pools that are mostly, half and seldom to be had."""
    rng = random.Random(seed)
    found = []
    for machines, share in ((4, 0.95), (4, 0.8), (1, 0.7), (2, 0.4)):
        runs = []
        while sum(ticks for _, ticks in runs) < 1000:
            up = rng.random() < share
            runs.append((machines if up else rng.randrange(machines), rng.randint(1, 40)))
        found.append(Trace(f"drawn, {machines} machines", 300.0, tuple(runs)))
    return found


def windows(trace: Trace) -> list[Trace]:
    """The trace from a few places on, as a bag may begin at any time."""
    total = sum(ticks for _, ticks in trace.runs)
    found = []
    for k in range(STARTS):
        skip, runs = k * total // (STARTS + 1), []
        for count, ticks in trace.runs:
            left = max(0, ticks - skip)
            skip = max(0, skip - ticks)
            if left:
                runs.append((count, left))
        found.append(Trace(trace.name, trace.gap_seconds, tuple(runs)))
    return found


def one(job: tuple[Trace, float]) -> tuple[Came, Came, Came, Came]:
    """Means over the beginnings: on-demand only, naive, with fallback, ours."""
    trace, task = job
    tasks = trace.machines * round(ON_DEMAND_SECONDS / task)
    seconds = BOOT_SECONDS + ON_DEMAND_SECONDS
    base = Came(seconds, trace.machines * seconds * HOURLY / 3600)
    found: list[tuple[Came, Came, Came]] = []
    for window in windows(trace):
        places = window.places()
        places += [[] for _ in range(trace.machines - len(places))]
        found.append((
            greedy(places, tasks, task, fallback=False),
            greedy(places, tasks, task, fallback=True),
            ours(places, tasks, task, SLACK * seconds),
        ))  # fmt: skip
    naive, fallback, own = (_mean(column) for column in zip(*found, strict=True))
    return base, naive, fallback, own


def foreseen(trace: Trace, window: Trace, task: float) -> float:
    """The least that the bag can cost by 1.2 × the time, for one who knows what is to be had.

    The longest stretches of spot machines come first, for each is booted once; what these do not
    do is done on demand. That on-demand machines could be full by then is left out: it is a bound.
    """
    tasks = trace.machines * round(ON_DEMAND_SECONDS / task)
    limit = SLACK * (BOOT_SECONDS + ON_DEMAND_SECONDS)
    stretches = [
        max(0, math.floor((min(end, limit) - begin - BOOT_SECONDS) / task + 1e-9))
        for place in window.places()
        for begin, end in place
        if begin < limit
    ]
    seconds = 0.0
    for most in sorted(stretches, reverse=True):
        if done := min(most, tasks):
            seconds += (BOOT_SECONDS + done * task) * SPOT
            tasks -= done
    machines = math.ceil(tasks / math.floor((limit - BOOT_SECONDS) / task))
    return (seconds + tasks * task + machines * BOOT_SECONDS) * HOURLY / 3600


def _mean(came: Sequence[Came]) -> Came:
    return Came(*(fmean(column) for column in zip(*map(astuple, came), strict=True)))


def greedy(
    places: list[list[tuple[float, float]]], tasks: int, task: float, *, fallback: bool
) -> Came:
    """Spot wherever it is to be had; where not, a machine waits, or is had on demand for a task."""
    cost = dear = 0.0
    left, last = tasks, 0.0
    free = [(0.0, k, False) for k in range(len(places))]  # when; where; its spot machine is up
    heapq.heapify(free)
    rate = HOURLY / 3600
    lost: list[float] = []
    while left and free:
        at, k, up = heapq.heappop(free)
        begin, end = _next(places[k], at)
        if begin > at and fallback:
            took = task + BOOT_SECONDS
            cost, dear, left, last = cost + took * rate, dear + took * rate, left - 1, at + took
            heapq.heappush(free, (at + took, k, False))
            continue
        if begin == NEVER:
            continue
        took = task + (0.0 if up and begin == at else BOOT_SECONDS)
        if begin + took <= end:
            left -= 1
            last = max(last, begin + took)
            heapq.heappush(free, (begin + took, k, True))
        else:
            took = end - begin
            lost.append(end)
            heapq.heappush(free, (end, k, False))
        cost += took * rate * SPOT
    return Came(last if not left else NEVER, cost, dear)


def _next(place: list[tuple[float, float]], at: float) -> tuple[float, float]:
    """When the place is to be had next, and until when."""
    k = bisect_right(place, (at, NEVER)) - 1
    if k >= 0 and at < place[k][1]:
        return at, place[k][1]
    return (place[k + 1][0], place[k + 1][1]) if k + 1 < len(place) else (NEVER, NEVER)


class Traced(Simulation):
    """Spot machines come when the trace has one, wait uncharged before, and go with it."""

    places: list[list[tuple[float, float]]]
    held: dict[int, MachineId]

    def _start_machines(self, command: StartMachines, now: float) -> None:
        if command.cluster:
            super()._start_machines(command, now)
            return
        boot = BOOT_SECONDS
        for machine in command.machines:
            self._workers[machine] = Worker(command.cluster, 1)
            taken = {k for k, holder in self.held.items() if holder in self._workers}
            free = [k for k in range(len(self.places)) if k not in taken]
            begin, end, k = min((*_next(self.places[k], now), k) for k in free)
            self.held[k] = machine
            if begin < NEVER:
                self._arrives(machine, begin, begin + boot)
                self._dies(machine, end, Cause.PREEMPTED, "taken away")


def ours(places: list[list[tuple[float, float]]], tasks: int, task: float, deadline: float) -> Came:
    kinds = (
        Offering(
            ClusterName("spot"), money(f"{HOURLY * SPOT / 3600:.9f}"), 1.0, len(places),
            reliable=False,
        ),
        Offering(ClusterName("sure"), money(f"{HOURLY / 3600:.9f}"), 1.0, len(places)),
    )  # fmt: skip
    settings = Settings(
        tasks, kinds, deadline_seconds=deadline, tail="ntdmr", strategy="N=3 T=1x D=2x M_r=1"
    )
    world = Traced(settings, lambda _task, _cluster: task, Conditions(boot_seconds=BOOT_SECONDS), 1)
    world.places, world.held = places, {}
    history = world.run(until=400 * deadline)
    complete = history.end is not None and history.end.outcome.value == "complete"
    dear = sum(end - since for c, since, end in history.uptimes.values() if c) * HOURLY / 3600
    seconds = history.ended_at if complete and history.ended_at is not None else NEVER
    return Came(seconds, world.engine.view().spent / UNITS, dear)


STUDIES = (Study("spot-traces", "spot machines as they were to be had (--data): four ways", study),)
