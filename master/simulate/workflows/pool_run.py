"""Workflows that come to a pool one after the other, run in virtual time."""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

from numpy.random import Generator

from bats.common.records import dataclass
from bats.master.brain.graphs.adjacency import Neighbours, neighbours
from bats.master.brain.graphs.ranks import upward
from bats.master.brain.placement.arrived_workflow import Workflow
from bats.master.brain.placement.placers import placer
from bats.master.brain.placement.pool import Arrived, Completed, Pool
from bats.master.simulate.workflows.generated import Generated

Estimating = Callable[[Generated, Generator], Sequence[float]]


@dataclass(frozen=True)
class Arriving:
    """A workflow, when it comes, its true runtimes and what they are held to be."""

    at: float
    near: Neighbours
    seconds: Sequence[float]
    estimates: Sequence[float]

    @cached_property
    def critical(self) -> float:
        """c, by true runtimes."""
        return max(upward(self.near, self.seconds), default=0.0)


@dataclass(slots=True)
class Stay:
    """A workflow's time in the pool."""

    arrived: float
    began: float = math.nan
    ended: float = math.nan

    @property
    def wait(self) -> float:
        return self.began - self.arrived

    @property
    def makespan(self) -> float:
        return self.ended - self.began

    @property
    def response(self) -> float:
        return self.ended - self.arrived


@dataclass(slots=True)
class Account:
    """One run of a pool, until it is empty."""

    stays: list[Stay]
    present: list[tuple[float, int]] = field(default_factory=list)  # N(t), at each change
    busy_seconds: float = 0.0
    starts: dict[tuple[int, int], tuple[float, int]] = field(default_factory=dict)
    """The moment and the place at which each task of each workflow began."""

    @property
    def ended(self) -> float:
        return self.present[-1][0]


def poisson(
    rng: Generator,
    count: int,
    per_second: float,
    draw: Callable[[Generator], Generated],
    estimating: Estimating | None = None,
) -> list[Arriving]:
    """So many workflows, with exponential times between them."""
    now = 0.0
    coming = []
    for _ in range(count):
        now += float(rng.exponential(1 / per_second)) if per_second else 0.0
        drawn = draw(rng)
        estimates = estimating(drawn, rng) if estimating else drawn.seconds
        coming.append(Arriving(now, neighbours(drawn.graph), drawn.seconds, estimates))
    return coming


def run_pool(
    coming: Sequence[Arriving],
    speeds: Sequence[float],
    policy: str,
    seed: int = 0,
    until: float = math.inf,
) -> Account:
    """Until all have ended, or until then. At one moment tasks end before workflows come."""
    pool = Pool(speeds, placer(policy), seed)
    account = Account([Stay(one.at) for one in coming])
    ends: list[tuple[float, int, int, int]] = []  # when, of which start, workflow, place
    left = [len(one.seconds) for one in coming]
    present = starts = 0
    arrivals = iter(enumerate(coming))
    arrival = next(arrivals, None)
    while ends or arrival is not None:
        if arrival is not None and (not ends or arrival[1].at < ends[0][0]):
            number, workflow = arrival
            now = workflow.at
            if now > until:
                break
            present += 1
            account.present.append((now, present))
            event = Arrived(number, Workflow(workflow.near, workflow.estimates))
            started = pool.handle(event, now)
            arrival = next(arrivals, None)
        else:
            now, _, number, place = heapq.heappop(ends)
            if now > until:
                break
            left[number] -= 1
            if not left[number]:
                present -= 1
                account.stays[number].ended = now
                account.present.append((now, present))
            started = pool.handle(Completed(place), now)
        for number, task, place in started:
            seconds = coming[number].seconds[task] / speeds[place]
            if math.isnan(account.stays[number].began):
                account.stays[number].began = now
            account.starts[number, task] = now, place
            starts += 1
            account.busy_seconds += seconds
            heapq.heappush(ends, (now + seconds, starts, number, place))
    return account
