"""Workflows that come to pools which grow and shrink, run in virtual time."""

import heapq
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import IntEnum
from functools import cached_property
from itertools import count
from typing import Final

from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.elasticity.charges import accounted_hours, charged_hours
from bats.master.brain.elasticity.curves import Elasticity, elasticity
from bats.master.brain.placement.arrived_workflow import Workflow
from bats.master.brain.placement.pool import Arrived, Completed, Start
from bats.master.brain.scaling.elastic_pool import Booted, ElasticPool, Hire, Look
from bats.master.brain.scaling.scaler import Kind
from bats.master.simulate.workflows.pool_run import Stay

Boot = Callable[[], float]
"""The seconds that the next machine takes to boot."""


class StuckError(Exception):
    """A run that would never end."""


@dataclass(frozen=True)
class Coming:
    """A workflow, when it comes, whose it is and how long its tasks truly take."""

    at: float
    workflow: Workflow
    seconds: Sequence[Sequence[float]]  # of each task on each kind of machine
    user: int = 0


@dataclass(slots=True)
class Life:
    """A machine's time."""

    user: int
    kind: int
    begin: float
    end: float = math.nan


@dataclass
class Account:
    """One run, until all workflows have ended; the machines then on end with it."""

    stays: list[Stay]
    kinds: Sequence[Kind]
    demand: list[tuple[float, float]] = field(default_factory=list)
    supply: list[tuple[float, float]] = field(default_factory=list)
    """Machines that have booted."""
    busy: list[tuple[float, float]] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    costs: list[list[Money]] = field(default_factory=list)
    """Of each user, for the interval after each look."""
    starts: dict[tuple[int, int], tuple[float, int, int]] = field(default_factory=dict)
    """The moment, the user and the machine of each task of each workflow."""

    @property
    def ended(self) -> float:
        return max(stay.ended for stay in self.stays)

    @property
    def most(self) -> int:
        return sum(kind.most for kind in self.kinds)

    @cached_property
    def elasticity(self) -> Elasticity:
        begin = self.stays[0].arrived
        return elasticity(self.demand, self.supply, self.busy, self.most, begin, self.ended)

    @property
    def accounted(self) -> float:
        """H̄."""
        return accounted_hours(((one.begin, one.end) for one in self.lives), self.most)

    def charged(self, atu: float) -> float:
        """C̄, in hours."""
        return charged_hours(((one.begin, one.end) for one in self.lives), self.most, atu)


PATIENCE: Final = 10_000
"""Looks at workflows of which nothing runs, after which nothing will happen any more."""


class _What(IntEnum):
    """Of what happens at one moment the first comes first."""

    ENDS = 0
    BOOTS = 1
    COMES = 2
    LOOK = 3


def run_elastic(
    coming: Sequence[Coming],
    pools: Sequence[ElasticPool],
    boot: Boot,
    seed: int = 0,
) -> Account:
    """A pool for each user; they share the machines that there can be.

    Raises StuckError where scalers leave workflows without the machines that they need.
    """
    kinds, interval = pools[0].kinds, pools[0].interval
    account = Account([Stay(one.at) for one in coming], kinds, costs=[[] for _ in pools])
    rng = random.Random(seed)
    order = count()
    queue: list[tuple[float, int, int, tuple[int, ...]]] = []
    lives: dict[tuple[int, int], Life] = {}
    left = [len(one.workflow.near) for one in coming]
    unfinished = len(coming)
    looks = 0  # since a task ended or a workflow came

    def put(at: float, what: int, *data: int) -> None:
        heapq.heappush(queue, (at, what, next(order), data))

    def carry_out(user: int, commands: Sequence[object], now: float) -> None:
        for command in commands:
            match command:
                case Start(number, task, place):
                    stay = account.stays[number]
                    if math.isnan(stay.began):
                        stay.began = now
                    account.starts[number, task] = now, user, place
                    takes = coming[number].seconds[lives[user, place].kind][task]
                    put(now + takes, _What.ENDS, user, place, number)
                case Hire(place, kind):
                    lives[user, place] = Life(user, kind, now)
                    account.lives.append(lives[user, place])
                    put(now + boot(), _What.BOOTS, user, place)
                case _:
                    lives.pop((user, command.place)).end = now  # type: ignore[attr-defined]

    def look(now: float) -> None:
        users = list(range(len(pools)))
        rng.shuffle(users)
        for user in users:
            room = [
                kind.most - sum(pool.supply[k] for pool in pools) for k, kind in enumerate(kinds)
            ]
            carry_out(user, pools[user].elastic(Look(room), now), now)
        for user, pool in enumerate(pools):
            account.costs[user].append(pool.cost)

    for number, one in enumerate(coming):
        put(one.at, _What.COMES, one.user, number)
    put(0.0, _What.LOOK)
    while unfinished:
        now, what, _, data = heapq.heappop(queue)
        if what in (_What.ENDS, _What.COMES):
            looks = 0
        looks += what is _What.LOOK
        if looks > PATIENCE and _stuck(pools, unfinished):
            raise StuckError(f"nothing runs, with {unfinished} workflows unfinished")
        match what, data:
            case _What.ENDS, (user, place, number):
                left[number] -= 1
                if not left[number]:
                    account.stays[number].ended = now
                    unfinished -= 1
                carry_out(user, pools[user].elastic(Completed(place), now), now)
            case _What.BOOTS, (user, place):
                carry_out(user, pools[user].elastic(Booted(place), now), now)
            case _What.COMES, (user, number):
                event = Arrived(number, coming[number].workflow)
                carry_out(user, pools[user].elastic(event, now), now)
            case _:
                look(now)
                put(now + interval, _What.LOOK)
        account.demand.append((now, sum(pool.demand for pool in pools)))
        ready = sum(pool.ready for pool in pools)
        account.supply.append((now, ready))
        account.busy.append((now, ready - sum(pool.free for pool in pools)))
    for life in lives.values():
        life.end = account.ended
    return account


def _stuck(pools: Sequence[ElasticPool], unfinished: int) -> bool:
    """True if all workflows have come and nothing runs."""
    come = sum(len(one.present) for one in pools) == unfinished
    return come and not any(one.free < one.ready for one in pools)
