"""Demand and supply of a span of time, and how far they were from each other (thesis §4.3.2-4.3.4).

Curves hold until their next change and are integrated exactly. d is demand, s supply, both in
places; R the most places there can be. A moment with d > R counts for nothing: no autoscaler could
have met it. x⁺ = max(x, 0), ε = 1.

(4.1) a_U = Σ (d - s)⁺ / (T R)              (4.2) a_O = Σ (s - d)⁺ / (T R)
(4.3) ā_U = Σ (d - s)⁺ / max(d, ε) / T      (4.4) ā_O = Σ (s - d)⁺ / max(d, ε) / T
(4.5) m_U = Σ idle / (T R)
(4.6) t_U, (4.7) t_O: shares of time with d > s, and with s > d
(4.8) k = share of steps with sgn Δs > sgn Δd      (4.9) k' = share with sgn Δs < sgn Δd
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.arrays import np

Curve = Sequence[tuple[float, float]]
"""Values from so many seconds on, rising in time; nothing before the first."""

STEP_SECONDS: Final = 17.0
"""The length of a step of k and k': the published pairs come out between 15 and 20."""

EPSILON: Final = 1.0


@dataclass(frozen=True, slots=True)
class Elasticity:
    """Shares of one; each is the better the lower."""

    a_u: float
    a_o: float
    mean_a_u: float  # ā_U
    mean_a_o: float  # ā_O
    t_u: float
    t_o: float
    k: float
    k_less: float  # k'
    m_u: float
    mean_supply: float  # V̄, in places, at all moments (4.10)
    left_out: float = 0.0  # of the time, as d > R


def elasticity(
    demand: Curve,
    supply: Curve,
    busy: Curve,
    most: float,
    begin: float,
    end: float,
    step: float = STEP_SECONDS,
) -> Elasticity:
    """The measures of the time between `begin` and `end`. `supply` leaves out what still boots."""
    if end <= begin or most <= 0:
        raise ValueError(f"no measures of {end - begin} seconds with {most} places")
    changes = {at for curve in (demand, supply, busy) for at, _ in curve if begin < at < end}
    edges = np.array([begin, *sorted(changes), end])
    d, s, b = (_at(curve, edges[:-1]) for curve in (demand, supply, busy))
    mean_supply = float(s @ np.diff(edges)) / (end - begin)
    met = d <= most
    lasts = np.diff(edges)[met]
    d, s, b = d[met], s[met], b[met]
    total = lasts.sum()
    if not total:
        return Elasticity(0, 0, 0, 0, 0, 0, 0, 0, 0, mean_supply, 1.0)
    under, over = np.maximum(d - s, 0), np.maximum(s - d, 0)

    def mean(values: np.ndarray) -> float:
        return float(values @ lasts / total)

    k, k_less = _instability(demand, supply, most, begin, end, step)
    return Elasticity(
        mean(under) / most,
        mean(over) / most,
        mean(under / np.maximum(d, EPSILON)),
        mean(over / np.maximum(d, EPSILON)),
        mean((d > s).astype(float)),
        mean((s > d).astype(float)),
        k,
        k_less,
        mean(np.maximum(s - b, 0)) / most,
        mean_supply,
        1 - float(total) / (end - begin),
    )


def _instability(
    demand: Curve, supply: Curve, most: float, begin: float, end: float, step: float
) -> tuple[float, float]:
    moments = np.arange(begin, end, step)
    d, s = _at(demand, moments), _at(supply, moments)
    d, s = d[d <= most], s[d <= most]
    if len(d) < 2:
        return 0.0, 0.0
    rises, wanted = np.sign(np.diff(s)), np.sign(np.diff(d))
    return float((rises > wanted).mean()), float((rises < wanted).mean())


def _at(curve: Curve, moments: np.ndarray) -> np.ndarray:
    """The value at each moment."""
    times = np.array([at for at, _ in curve])
    values = np.array([0.0, *(value for _, value in curve)])
    return values[np.searchsorted(times, moments, side="right")]
