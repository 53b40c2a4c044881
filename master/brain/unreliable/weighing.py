"""Weighing strategies in the course of a bag: the one to go on with, and what it will come to.

Asked once results tell of the unreliable machines, and again at T_tail with what is then known
(§4.3, §4.5). Pure data goes in, so that it can be answered beside a master's loop.
"""

from dataclasses import replace
from typing import Final

from bats.common.money import NOTHING, UNITS, Money
from bats.common.records import dataclass
from bats.master.brain.protocol.events import Weighed
from bats.master.brain.unreliable.estimator import Estimate
from bats.master.brain.unreliable.notation import write
from bats.master.brain.unreliable.pools import World
from bats.master.brain.unreliable.preference import best_of
from bats.master.brain.unreliable.strategy import Strategy
from bats.master.brain.unreliable.tradeoff import frontier

NINE_OF_TEN: Final = 1.28
"""Standard deviations beyond the mean that a limit leaves room for."""


@dataclass(frozen=True, slots=True)
class KnownPools:
    """Prices are in whole currency. `world` is of the tasks that are left, or of all of them."""

    world: World
    M_r_most: float
    size: int  # unreliable machines that there may be at most, which M_r is written by
    reliable_slots: int  # of a reliable machine; the world counts slots as machines

    def written(self, strategy: Strategy) -> str:
        """The strategy as a bag takes it: of the machines there may be, not of those to be had."""
        machines = -(-self.world.reliable_machines(strategy.M_r) // self.reliable_slots)
        return write(replace(strategy, M_r=machines / self.size))


@dataclass(frozen=True, slots=True)
class Weighing:
    """The question. Money is whole currency; limits are of what is left."""

    known: KnownPools
    rule: str
    spent: float  # on machines that are gone
    budget: float | None  # for the machines that are there, and those to come
    deadline_seconds: float | None
    seed: int = 0


def weigh(asked: Weighing) -> Weighed:
    """The answer to it."""
    found = frontier(asked.known.world, asked.known.M_r_most, seed=asked.seed)
    if not found:
        return Weighed("", 0.0, NOTHING, 0, kept=False)
    kept = [one for one in found if _keeps(one, asked)]
    best = best_of(kept or [_nearest(found, asked)], asked.rule)
    cost = Money(round((asked.spent + best.cost) * UNITS))
    return Weighed(asked.known.written(best.strategy), best.seconds, cost, len(found), bool(kept))


def _keeps(one: Estimate, asked: Weighing) -> bool:
    cost = one.cost + NINE_OF_TEN * one.cost_spread
    seconds = one.seconds + NINE_OF_TEN * one.seconds_spread
    in_budget = asked.budget is None or cost <= asked.budget
    return in_budget and (asked.deadline_seconds is None or seconds <= asked.deadline_seconds)


def _nearest(found: list[Estimate], asked: Weighing) -> Estimate:
    """Money is never exceeded, so the cheapest comes first of what misses a limit."""
    if asked.budget is not None:
        return min(found, key=lambda e: e.cost)
    return min(found, key=lambda e: e.seconds)
