"""Skips the long middle of a large bag, in which every slot is always busy.

Slots that have been busy for long are renewal processes in equilibrium: what one runs is drawn
with weights by length, and how far it has come is uniform (Cox 1962). How long a number of tasks
takes is normal by the central limit theorem for counts: after time t, slot s has begun
t/µ + (1+c²)/2 tasks on average, c = σ/µ, with variance t·σ²/µ³.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bats.master.brain.arrays import np
from bats.master.brain.prediction.distributions import Draws
from bats.master.brain.prediction.rollout import Floats, Ints, Lines, Slots

if TYPE_CHECKING:
    from numpy.random import Generator


def skip(
    tasks: int, draws: Draws, kind: Ints, ready: Floats, lines: Lines, rng: Generator
) -> Slots:
    """The slots, alike in all runs, when `tasks` of the bag have been begun: several per slot."""
    R, S = draws.values.shape[0], kind.size
    row = np.arange(R)[:, None]
    weights = draws.weights
    mu, variance, running = np.empty((R, S)), np.empty((R, S)), np.empty((R, S))
    for k in np.unique(kind):
        there = lines.convert(k, draws.values)
        by_length = weights * there
        mean = by_length.sum(axis=1)
        at = np.flatnonzero(kind == k)
        mu[:, at] = mean[:, None]
        variance[:, at] = ((by_length * there).sum(axis=1) - mean**2)[:, None]
        upto = np.cumsum(by_length, axis=1) / mean[:, None]
        running[:, at] = Draws(draws.values, upto).tasks(at.size, rng).T
    gamma = (1 / mu).sum(axis=1)
    ahead = ((1 + variance / mu**2) / 2 - ready / mu).sum(axis=1)
    spread = np.sqrt(np.maximum(tasks * (variance / mu**3).sum(axis=1) / gamma, 0.0))
    now = (tasks - ahead + rng.standard_normal(R) * spread) / gamma
    length = lines.convert(kind, running)
    left = rng.random((R, S)) * length
    end = np.maximum(now[:, None] + left, ready + length)
    assert row.size == R
    return Slots(np.tile(kind, (R, 1)), np.tile(ready, (R, 1)), end - length, end, running)
