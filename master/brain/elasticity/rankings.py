"""Three rankings of autoscalers by several measures, all the lower the better (thesis §4.8)."""

from collections.abc import Mapping
from statistics import fmean
from typing import Final, NamedTuple

Measured = Mapping[str, Mapping[str, float]]
"""Measures by autoscaler."""


def pairwise(rows: Measured) -> dict[str, float]:
    """A point for each measure and opponent that is worse, half a point if equal."""
    return {
        name: sum(
            1.0 if value < other[measure] else 0.5 if value == other[measure] else 0.0
            for rival, other in rows.items()
            if rival != name
            for measure, value in own.items()
        )
        for name, own in rows.items()
    }


def fractional(rows: Measured, best: Mapping[str, float] | None = None) -> dict[str, float]:
    """The mean over measures of (m - b) / b, b the best value, 1 in the divisor where that is 0.

    Table 4.7 follows from this. Equation 4.15 as printed, which differs, is `fractional_printed`.
    """
    least = dict(best) if best is not None else _best(rows)
    return {
        name: fmean((value - least[m]) / (least[m] or 1.0) for m, value in own.items())
        for name, own in rows.items()
    }


def fractional_printed(rows: Measured) -> dict[str, float]:
    """(4.15) p = Σ |m - b| / max(b, ε), ε = 1, as a mean over measures."""
    least = _best(rows)
    return {
        name: fmean(abs(value - least[m]) / max(least[m], 1.0) for m, value in own.items())
        for name, own in rows.items()
    }


def _best(rows: Measured) -> dict[str, float]:
    measures = next(iter(rows.values()))
    return {measure: min(own[measure] for own in rows.values()) for measure in measures}


class Scores(NamedTuple):
    """Against a base, 1 being its equal; the higher the better."""

    elasticity: float  # s, equation 4.16
    user: float  # u, equation 4.17
    overall: float  # o, equation 4.18


ACCURACY: Final = ("a_U", "a_O")
TIME: Final = ("t_U", "t_O")
INSTABILITY: Final = ("k", "k'")


def scores(own: Mapping[str, float], base: Mapping[str, float]) -> Scores:
    """(4.16) s = (a_b/a · t_b/t · κ_b/κ)^⅓, (4.17) u = √(H̄_b/H̄ · S_b/S), (4.18) o = √(s u)."""

    def gain(*measures: str) -> float:
        return sum(base[m] for m in measures) / sum(own[m] for m in measures)

    s = (gain(*ACCURACY) * gain(*TIME) * gain(*INSTABILITY)) ** (1 / 3)
    u = (gain("H") * gain("S_e")) ** 0.5
    return Scores(s, u, (s * u) ** 0.5)
