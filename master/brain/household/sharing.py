"""Sharing by name: how many slots of the common machines each bag should have.

`fair` gives by what each has had so far for its weight: stride scheduling (Waldspurger & Weihl,
"Stride Scheduling: Deterministic Proportional-Share Resource Management", 1995, section 2), for
users first and then for the bags of each. The next slot goes to who has had least, its part of the
coming `QUANTUM_SECONDS` counted in; so shares hold over time even where slots do not divide.

What a bag was told counts more than weights: who comes later has room for one task at once, so that
it does not starve, and more only of what earlier promises leave.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import count, groupby
from typing import Final, Generic, Protocol, TypeVar

from bats.common.messages import BagId
from bats.common.records import dataclass
from bats.master.brain.protocol.course import Course

K = TypeVar("K", bound=Hashable)

QUANTUM_SECONDS: Final = 1.0
"""The time for which slots are given, before who is short is looked at anew."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One bag as a policy sees it; `served` is slot seconds per weight, counted from its peers."""

    bag: BagId
    user: str
    needs: int  # slots
    keeps: int  # of those, to end as it was told
    told_at: float  # infinite: nothing was
    width: int  # each of its tasks takes so many
    weight: float
    priority: int
    served: float
    user_weight: float
    user_served: float
    age: float = 0.0  # seconds since it began
    course: Course | None = None  # None: it was not asked, or has not told yet


Shares = Mapping[BagId, int]


class Sharing(Protocol):
    """A way to share slots: never more than a bag needs, nor more than there are."""

    takes_turns: bool  # time alone changes who should have how many

    def share(self, slots: int, claims: Sequence[Claim]) -> Shares:
        """`claims` come in the order of submission."""
        ...


class Fair:
    """By weight, over users and then over the bags of each; what one does not use others have.

    Who was told when it ends keeps what it needs for that; all others have room for one task.
    """

    takes_turns = True

    def share(self, slots: int, claims: Sequence[Claim]) -> Shares:
        kept = keeping(slots, claims)
        if not kept:
            return self._by_weight(slots, claims)
        had: Counter[str] = Counter()
        for claim in claims:
            had[claim.user] += kept[claim.bag]
        more = self._by_weight(
            slots - sum(kept.values()), [_with(one, kept[one.bag], had[one.user]) for one in claims]
        )
        return {bag: each + more[bag] for bag, each in kept.items()}

    def _by_weight(self, slots: int, claims: Sequence[Claim]) -> Shares:
        by_user: dict[str, list[Claim]] = {}
        for claim in claims:
            by_user.setdefault(claim.user, []).append(claim)
        of_users = stride(
            slots,
            [
                Striding(user, sum(one.needs for one in own), least(own), *of_user(own[0]))
                for user, own in by_user.items()
            ],
        )
        return {
            bag: given
            for user, own in by_user.items()
            for bag, given in stride(
                of_users[user],
                [Striding(c.bag, c.needs, c.width, c.weight, c.served) for c in own],
            ).items()
        }


def keeping(slots: int, claims: Sequence[Claim]) -> dict[BagId, int]:
    """The slots that no weight decides on: a task of each, then what promises need, in their order.

    {} if nothing was told to anybody, or the slots do not do for a task of each: they take turns.
    """
    kept = {one.bag: one.width if one.needs >= one.width else 0 for one in claims}
    rest = slots - sum(kept.values())
    if rest < 0 or not any(min(one.keeps, one.needs) for one in claims):
        return {}
    for one in sorted(claims, key=lambda one: one.told_at):
        wanted = min(one.keeps, one.needs) - kept[one.bag]
        more = max(0, min(rest, wanted)) // one.width * one.width
        kept[one.bag] += more
        rest -= more
    return kept


def _with(claim: Claim, slots: int, of_user: int) -> Claim:
    """The claim of a bag that has so many already, and its user so many in all."""
    return replace(
        claim,
        needs=claim.needs - slots,
        served=claim.served + slots * QUANTUM_SECONDS / claim.weight,
        user_served=claim.user_served + of_user * QUANTUM_SECONDS / claim.user_weight,
    )


class Fifo:
    """Earlier bags have all that they need."""

    takes_turns = False

    def share(self, slots: int, claims: Sequence[Claim]) -> Shares:
        shares: dict[BagId, int] = {}
        for claim in claims:
            given = min(claim.needs, slots) // claim.width * claim.width
            shares[claim.bag] = given
            slots -= given
        return shares


class Priority:
    """Bags of a higher priority have all that they need; equal ones share fairly."""

    takes_turns = True

    def share(self, slots: int, claims: Sequence[Claim]) -> Shares:
        shares: dict[BagId, int] = {}
        by_priority = sorted(claims, key=lambda claim: -claim.priority)
        for _, equal in groupby(by_priority, key=lambda claim: claim.priority):
            given = Fair().share(slots, list(equal))
            shares |= given
            slots -= sum(given.values())
        return shares


SHARINGS: Final[MutableMapping[str, Callable[[], Sharing]]] = {
    "fair": Fair,
    "fifo": Fifo,
    "priority": Priority,
}


@dataclass(frozen=True)
class Striding(Generic[K]):
    """One who takes part in a stride: `served` is what it has had, per weight."""

    key: K
    needs: int
    width: int
    weight: float
    served: float


def stride(slots: int, striding: Iterable[Striding[K]]) -> dict[K, int]:
    """Slots for each, one after the other to who has had least; ties go to who comes first."""
    order = count()
    everyone = list(striding)
    shares = {one.key: 0 for one in everyone}
    if sum(one.needs for one in everyone) <= slots:
        return {one.key: one.needs // one.width * one.width for one in everyone}
    heap = [(one.served, next(order), one) for one in everyone]
    heapq.heapify(heap)
    while slots and heap:
        served, turn, one = heapq.heappop(heap)
        if shares[one.key] + one.width > one.needs or one.width > slots:
            continue
        shares[one.key] += one.width
        slots -= one.width
        heapq.heappush(heap, (served + one.width * QUANTUM_SECONDS / one.weight, turn, one))
    return shares


def least(claims: Sequence[Claim]) -> int:
    """The narrowest width: what a user can take at the least."""
    return min(claim.width for claim in claims)


def of_user(claim: Claim) -> tuple[float, float]:
    return claim.user_weight, claim.user_served
