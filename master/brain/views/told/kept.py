"""The part of common machines that a bag needs to keep what it was told: others have the rest.

A promise is for the share of its moment: P places on machines that serve all, and so many machines
of each offering as a typical run had. At each look the plan is run ahead again. Where it ends or
costs less by now than was told, with 90 % confidence, others may have what that leaves. Of a look:

R    seconds until the end, with confidence, with its P places and O more on machines of its own
A    seconds from then until the end that was told
S    money between what it costs by now, with confidence, and what was told
p    money for one place of its own and a second

A share of k places does if (k + O)·A ≥ (P + O)·R, and if the place seconds that machines of its own
work off instead are paid for, (P - k)·A·p ≤ S. All places count alike.
"""

import math

from bats.common.records import dataclass
from bats.master.brain.books.choice import Share, Told
from bats.master.brain.protocol.numbering import serves_all
from bats.master.brain.views import investments
from bats.master.brain.views.readonly import ClusterView, Phase, RunView


@dataclass(frozen=True, slots=True)
class Kept:
    """The part that others leave to a bag that was told something before they came."""

    since: float
    places: int
    machines: tuple[int, ...]  # of each offering


def share(run: RunView) -> Share:
    """Its part of what bags have in common."""
    common = (one.slots for one in run.pool.alive() if serves_all(one.id))
    machines = (
        c.offering.max_machines if investments.lengths(run, c.index).count else 0
        for c in run.clusters
    )
    return Share(sum(common), tuple(machines))


def keeps(run: RunView) -> Kept | None:
    """None while nothing is told, or nothing more is to be done by it."""
    told = run.choice.told
    if told is None or told.share is None or run.phase is not Phase.EXECUTING:
        return None
    machines = told.schedules[0].mix
    places = told.share.places
    if run.choice.looks:
        look = run.choice.looks[-1]
        machines = tuple(map(min, machines, look.schedules[0].mix))
        places = min(places, _places(run, told, look))
    return Kept(told.at, places, machines)


def _places(run: RunView, told: Told, look: Told) -> int:
    """The least k that does."""
    P = 0 if look.share is None else look.share.places
    A, R = told.ends(sure=True) - look.at, look.ends(sure=True) - look.at
    if A <= 0:
        return P
    own = [
        (count * c.offering.slots, c)
        for count, c in zip(look.schedules[0].mix, run.clusters, strict=True)
        if c.startable and count
    ]
    O = sum(places for places, _ in own)
    in_time = (P + O) * R / A - O
    S = max(0, told.total_cost - look.total_cost)
    p = max((_price(c) for _, c in own), default=0.0)
    within_price = P - S / (A * p) if p else 0.0
    return max(0, math.ceil(max(in_time, within_price) - 1e-9))


def _price(c: ClusterView) -> float:
    return c.offering.price / c.offering.atu_seconds / c.offering.slots
