"""The strategies that no other beats in both makespan and cost (§4.4), found in two rounds.

The paper's grid, few repetitions each; then finer steps around the knee, where their product is
least; then those that are left with more repetitions, so that none is there by good luck alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from bats.master.brain.arrays import np
from bats.master.brain.unreliable.estimator import REPETITIONS, Estimate, estimate
from bats.master.brain.unreliable.pools import NEVER, World
from bats.master.brain.unreliable.strategy import AR, AUR, Strategy, static

N_MOST: Final = 3
POINTS: Final = 5  # of T and of D
RATIOS: Final = (0.02, 0.06, 0.1, 0.2, 0.3, 0.4, 0.5)
CLEARLY: Final = 0.05
SURE: Final = 6  # times the repetitions, for those that are shown


def grid(world: World, M_r_most: float) -> list[Strategy]:
    """N from 0 to 3, 0 ≤ T ≤ D ≤ 4·T_ur, M_r up to the most (§6.1).

    Without reliable ones N is unlimited, and a strategy says only how soon copies follow.
    """
    most, steps = world.throughput_deadline, POINTS - 1
    times = [
        (t / steps * d / steps * most, d / steps * most)
        for d in range(1, POINTS)
        for t in range(POINTS)
    ]
    ratios = _ratios(world, M_r_most)
    if not ratios:
        return [Strategy(None, T, D, 0.0) for T, D in times if T]
    return [
        Strategy(N, T, D, M_r)
        for M_r in ratios
        for N in range(N_MOST + 1)
        for T, D in times
        if N or most == D  # without unreliable instances their deadline is nothing
    ]


def alone(world: World, M_r_most: float) -> list[Strategy]:
    """One pool alone, to the end: what is cheapest or surest may be that.

    A bag that has begun goes on with all the reliable machines or with none, for a tail has no AR.
    """
    ratios = _ratios(world, M_r_most)
    if world.found is not None:
        ratios = ratios[-1:] if world.tasks > world.found.running else []
    found = [static(AR, world, M_r, 0.0) for M_r in ratios]
    return [*found, static(AUR, world, 0.0, 0.0)]


def _ratios(world: World, M_r_most: float) -> list[float]:
    """Those of `RATIOS` that differ in whole machines, and the most there may be."""
    machines: dict[int, float] = {}
    for M_r in (*(r for r in RATIOS if r < M_r_most), M_r_most):
        if count := world.reliable_machines(M_r):
            machines[count] = M_r
    return list(machines.values())


def efficient(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Those that no other beats or equals in both, the fastest first."""
    found: list[Estimate] = []
    for one in sorted(estimates, key=lambda e: (e.seconds, e.cost)):
        if one.seconds < NEVER and (not found or one.cost < found[-1].cost):
            found.append(one)
    return found


def knee(frontier: Sequence[Estimate]) -> Estimate:
    """The one with the least product of makespan and cost."""
    return min(frontier, key=lambda e: e.seconds * e.cost)


def frontier(
    world: World, M_r_most: float, repetitions: int = REPETITIONS, seed: int = 0
) -> list[Estimate]:
    """The efficient strategies, the fastest first; none if the bag has no end under any."""
    tried = [*grid(world, M_r_most), *alone(world, M_r_most)]
    first = estimate(world, tried, repetitions, seed)
    if not efficient(first):
        return []
    finer = list(_around(knee(efficient(first)).strategy, world, M_r_most))
    second = estimate(world, finer, repetitions, seed + 1) if finer else []
    close = [e.strategy for e in _nearly_efficient([*first, *second])]
    return efficient(estimate(world, close, SURE * repetitions, seed + 2))


def _nearly_efficient(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Those that no other beats clearly: the rest may be bad luck."""
    seconds = np.array([e.seconds for e in estimates])
    cost = np.array([e.cost for e in estimates])
    return [
        e
        for e in estimates
        if e.seconds < NEVER
        and not np.any((seconds < (1 - CLEARLY) * e.seconds) & (cost < (1 - CLEARLY) * e.cost))
    ]


def _around(strategy: Strategy, world: World, M_r_most: float) -> Iterator[Strategy]:
    """Strategies within half a step of the grid."""
    if not strategy.tail or strategy.N is None:
        return
    step = world.T_ur / 2
    one = 1 / world.machines
    for D in (strategy.D - step, strategy.D, strategy.D + step):
        for T in (strategy.T - step, strategy.T - step / 2, strategy.T, strategy.T + step / 2):
            if not 0 <= T <= D or D <= 0:
                continue
            for M_r in (strategy.M_r - one, strategy.M_r, strategy.M_r + one):
                if 0 < M_r <= M_r_most + 1e-9:
                    yield replace(strategy, T=T, D=D, M_r=M_r)
