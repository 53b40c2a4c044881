"""Offers one can believe: in order of price, each faster than all that cost less.

What a mix comes to is known only once a predictor has run it. An offer is dominated when another
takes no longer and costs no more, in the median and with the confidence of its bounds. Predictions
waver: an offer that is faster by less than that is worth no money either.
"""

from collections.abc import Sequence
from typing import Final

from bats.master.brain.planning.schedules import Schedule, pick

NOISE: Final = 0.03
"""The part of a makespan by which predictions of one and the same offer waver."""

NAMES: Final = (
    "cheapest",
    "cheapest+10%",
    "cheapest+20%",
    "fastest-20%",
    "fastest-10%",
    "fastest",
)
"""Names of offers, from that which should cost least on."""


def believable(foretold: Sequence[Schedule]) -> tuple[Schedule, ...]:
    """Those of the offers that none of the others dominates, the cheapest first."""
    kept: list[Schedule] = []
    for offer in sorted(foretold, key=lambda one: (one.cost, one.makespan_seconds)):
        while kept and _dominates(offer, kept[-1]):
            kept.pop()
        if not any(_dominates(cheaper, offer) for cheaper in kept):
            kept.append(offer)
    return tuple(kept)


def resolve(offers: Sequence[Schedule], rule: str) -> Schedule:
    """The offer meant: of a name that is not shown, the nearest cheaper one."""
    shown = {one.name: one for one in offers}
    if rule in shown or rule not in NAMES or not offers:
        return pick(tuple(offers), rule)
    cheaper = [name for name in NAMES[: NAMES.index(rule)] if name in shown]
    return shown[cheaper[-1]] if cheaper else offers[0]


def why_not_shown(offers: Sequence[Schedule], rule: str, taken: Schedule) -> str:
    """A sentence about a name that stands for another offer; "" when it is shown itself."""
    if rule == taken.name or rule not in NAMES:
        return ""
    words = "is no faster" if taken is not offers[0] else "costs no less"
    return f"{rule} {words} than {taken.name}, which is taken"


def _dominates(one: Schedule, other: Schedule) -> bool:
    """True if the one is as good in price and time, or in the bounds of both."""
    if one.cost <= other.cost and one.makespan_seconds <= other.makespan_seconds * (1 + NOISE):
        return True
    mine, its = one.bounds, other.bounds
    if mine is None or its is None:
        return False
    sooner = mine.makespan_seconds <= its.makespan_seconds * (1 - NOISE)
    return sooner and mine.cost <= its.cost
