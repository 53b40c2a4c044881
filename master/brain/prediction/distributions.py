"""Distributions that a sample leaves open: it may well stem from each of them.

A sample of 30 says its mean within some 15 %, and of the longest tasks of a bag next to nothing.
Both are drawn: each draw is one distribution that the bag may have. Its body is a Bayesian
bootstrap of the sample (Rubin 1981: Dirichlet weights). Its tail, beyond the (k+1)-th longest
runtime u, is a generalised Pareto distribution (Pickands 1975: the limit of any tail),
P(X - u > y) = (1 + ξy/s)^(-1/ξ), with shape ξ and scale s drawn from their posterior given the k
excesses over u. Where the tail begins is not known either: k goes over a range, in equal parts.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from bats.common.records import dataclass
from bats.master.brain.arrays import np

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

SHAPE_MEAN, SHAPE_SIGMA = 0.0, 0.3  # prior of ξ: exponential, give or take
TAIL: Final = (0.7, 1.5)  # k, in √n: 4 to 9 of 30


@cache
def _shapes() -> Floats:
    """ξ: below 0 the tail ends, above 1/2 it has no variance."""
    return np.arange(-0.95, 0.5, 0.05)


@cache
def _scales() -> Floats:
    """s, in mean excesses."""
    return np.exp(np.linspace(math.log(0.1), math.log(10), 60))


@cache
def _survival() -> Floats:
    """P(X > x | X > u) at the edges of the tail's atoms; e^-16 is one in nine millions."""
    return np.exp(-np.linspace(0.0, 16.0, 65))


@dataclass(frozen=True, slots=True)
class Draws:
    """One distribution per row, as atoms and their cumulated weights."""

    values: Floats
    upto: Floats

    @property
    def weights(self) -> Floats:
        return np.diff(self.upto, axis=1, prepend=0.0)

    def tasks(self, number: int, rng: Generator) -> Floats:
        """Runtimes of `number` tasks from each: one column per distribution."""
        R, A = self.values.shape
        flat = (self.upto + np.arange(R)[:, None]).reshape(-1)
        flat[A - 1 :: A] = np.arange(1, R + 1)  # against rounding
        u = rng.random((number, R)) * (1 - 1e-12) + np.arange(R)  # never up to the next row
        return self.values.reshape(-1)[np.searchsorted(flat, u, side="right")]


def possible(sample: Floats, draws: int, rng: Generator) -> Draws:
    """Distributions that a sample of runtimes may stem from."""
    known = np.sort(sample)
    n = known.size
    weights = rng.standard_exponential((draws, n))
    weights /= weights.sum(axis=1, keepdims=True)
    edges = _survival()
    share = -np.diff(edges) / (1 - edges[-1])
    middle = (edges[1:] + edges[:-1]) / 2
    tail_values = np.full((draws, share.size), known[-1])
    tail_weights = np.zeros((draws, share.size))
    fewest, most = (min(n - 1, math.ceil(part * math.sqrt(n))) for part in TAIL)
    parts = np.array_split(np.arange(draws), most - fewest + 1)
    for k, rows in enumerate(parts, fewest):
        u = known[n - k - 1]
        excesses = known[n - k :] - u
        if rows.size == 0 or not np.any(excesses > 0):
            continue  # the longest are all alike: nothing says that any is longer
        shape, scale = _posterior(excesses, rows.size, rng)
        tail_values[rows] = u + scale[:, None] * _excess(shape[:, None], middle)
        tail_weights[rows] = weights[rows, n - k :].sum(axis=1, keepdims=True) * share
        weights[rows, n - k :] = 0.0
    return Draws(
        np.concatenate([np.tile(known, (draws, 1)), tail_values], axis=1),
        np.cumsum(np.concatenate([weights, tail_weights], axis=1), axis=1),
    )


def _posterior(excesses: Floats, draws: int, rng: Generator) -> tuple[Floats, Floats]:
    """ξ and s, drawn on a grid; the prior of s is 1/s."""
    y = excesses / excesses.mean()
    shapes, scales = _shapes(), _scales()
    xi, s = shapes[:, None, None], scales[None, :, None]
    inner = 1 + xi * y / s
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(inner > 0, np.log(inner), np.inf)
        density = np.where(np.abs(xi) < 1e-9, -y / s, -(1 / np.where(xi == 0, 1, xi) + 1) * log)
    density = np.where((inner > 0) | (np.abs(xi) < 1e-9), density, -np.inf)
    likelihood = density.sum(axis=2) - y.size * np.log(scales)
    likelihood -= (shapes[:, None] - SHAPE_MEAN) ** 2 / (2 * SHAPE_SIGMA**2)
    chance = np.exp(likelihood - likelihood.max()).reshape(-1)
    at = rng.choice(chance.size, draws, p=chance / chance.sum())
    return shapes[at // scales.size], scales[at % scales.size] * excesses.mean()


def _excess(shape: Floats, survival: Floats) -> Floats:
    """y/s at which P(X - u > y) is `survival`."""
    straight = np.abs(shape) < 1e-9
    xi = np.where(straight, 1.0, shape)
    return np.where(straight, -np.log(survival), (survival**-xi - 1) / xi)
