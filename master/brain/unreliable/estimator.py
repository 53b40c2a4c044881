"""The estimator (§4.4): makespan and cost of strategies, each run a number of times in numpy.

All strategies that open alike see the same throughput phases; every lane has its own tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.unreliable import tail
from bats.master.brain.unreliable.pools import NEVER, World
from bats.master.brain.unreliable.strategy import Strategy
from bats.master.brain.unreliable.throughput import Start, until_tail

REPETITIONS: Final = 10
AT_ONCE: Final = 2_000_000  # cells: lanes by machines and tasks, so many fit the memory


@dataclass(frozen=True, slots=True)
class Estimate:
    """Means of the repetitions, and how far these lie apart (standard deviations)."""

    strategy: Strategy
    seconds: float  # makespan; NEVER if some task has no result ever
    seconds_spread: float
    tail_seconds: float
    cost: float  # of the whole bag
    cost_spread: float
    reliable_instances: float
    reliable_used: float  # machines
    reliable_queue: float  # at its longest


def estimate(
    world: World, strategies: Sequence[Strategy], repetitions: int = REPETITIONS, seed: int = 0
) -> list[Estimate]:
    """Estimates of the whole bag, in the order of the strategies."""
    starts: dict[object, list[Start]] = {}
    for strategy in strategies:
        key = _alike(strategy)
        if key not in starts:
            starts[key] = [
                until_tail(world, strategy, np.random.default_rng([seed, k]))
                for k in range(repetitions)
            ]
    return from_tail(world, [(s, starts[_alike(s)]) for s in strategies], seed)


def from_tail(
    world: World, cases: Sequence[tuple[Strategy, Sequence[Start]]], seed: int = 0
) -> list[Estimate]:
    """Estimates of strategies whose tails begin so."""
    rng = np.random.default_rng([seed, len(cases)])
    lanes = [tail.Lane(strategy, start) for strategy, starts in cases for start in starts]
    cells = world.machines + 2 * max(len(lane.start.sent) for lane in lanes)
    step = max(1, AT_ONCE // cells)
    parts = [tail.run(world, lanes[k : k + step], rng) for k in range(0, len(lanes), step)]
    ends = [np.concatenate(columns) for columns in zip(*map(_columns, parts), strict=True)]
    found, begin = [], 0
    for strategy, starts in cases:
        found.append(_mean(strategy, [end[begin : begin + len(starts)] for end in ends]))
        begin += len(starts)
    return found


def _alike(strategy: Strategy) -> object:
    """The parts of a strategy that its throughput phase goes by."""
    reliable = strategy.opening.uses_reliable and strategy.M_r
    return strategy.opening, strategy.tail, strategy.affordable, reliable


def _columns(ends: tail.Ends) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    columns = (
        ends.seconds, ends.tail_seconds, ends.cost,
        ends.reliable_instances, ends.reliable_used, ends.reliable_queue,
    )  # fmt: skip
    return [np.asarray(column, dtype=np.float64) for column in columns]


def _mean(
    strategy: Strategy, columns: Sequence[np.ndarray[tuple[int], np.dtype[np.float64]]]
) -> Estimate:
    seconds, tail_seconds, cost, instances, used, queue = columns
    ends = bool(np.isfinite(seconds).all())
    return Estimate(
        strategy,
        float(seconds.mean()) if ends else NEVER,
        float(seconds.std()) if ends else NEVER,
        float(tail_seconds.mean()) if ends else NEVER,
        float(cost.mean()) if ends else NEVER,
        float(cost.std()) if ends else NEVER,
        float(instances.mean()),
        float(used.mean()),
        float(queue.mean()),
    )
