"""The household: a pure state machine above the engines, one for all bags that run side by side.

Notices and the time go in, commands come out; the same notices give the same commands. It says
which slots of the common machines a bag has, and how many machines of an offering it may have. That
reaches the bag's engine as an event of its own journal, so that each bag is replayed alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.household.caps import Caps, CapView
from bats.master.brain.household.common_slots import CommonSlots
from bats.master.brain.household.members import Members
from bats.master.brain.household.notices import (
    Answer,
    Arrange,
    Came,
    Capped,
    Closed,
    Committed,
    Fills,
    Grant,
    Keeps,
    Left,
    Limit,
    Needs,
    Notice,
    Opened,
    Placed,
    Progressed,
    Runs,
    Takes,
    TimePassed,
    Uses,
    Weighed,
    Went,
)
from bats.master.brain.household.placements import USUAL, placement
from bats.master.brain.household.scarce_machines import ScarceMachines
from bats.master.brain.household.sharing import QUANTUM_SECONDS, SHARINGS, Sharing
from bats.master.brain.protocol.commands import WakeAt

_LONGEST_PAUSE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class MachineShares:
    """A common machine, for people and programs."""

    machine: MachineId
    kind: str
    slots: int
    granted: Mapping[BagId, int]
    paid_by: BagId | None  # the bag that lends it
    until: float  # of the calendar


@dataclass(frozen=True, slots=True)
class BagShare:
    """A bag's part of the common machines."""

    bag: BagId
    user: str
    weight: float
    priority: int
    needs: int  # tasks that it could run
    slots: int  # that it has
    keeps: int  # tasks that it needs room for, to end as it was told


@dataclass(frozen=True, slots=True)
class HouseholdView:
    sharing: str
    placement: str
    bags: tuple[BagShare, ...]
    machines: tuple[MachineShares, ...]
    caps: tuple[CapView, ...]


class Household:
    """`user_weights` say how much users count for, 1 those that it does not name."""

    def __init__(
        self,
        sharing: str = "fair",
        user_weights: Mapping[str, float] | None = None,
        placement_name: str = USUAL,
        *,
        lending: bool = True,
    ) -> None:
        self.sharing = sharing
        self.lending = lending  # paid time that a bag has no use for is there for others
        self.now = 0.0
        self._policy = SHARINGS[sharing]()
        self.placement = placement(placement_name)
        self._user_weights = dict(user_weights or {})
        self._members = Members()
        self._slots = CommonSlots(self._members)
        self._scarce: dict[str, ScarceMachines] = {}
        self._caps = Caps()
        self._woken_at: float | None = None
        self._pause = QUANTUM_SECONDS  # till it looks again

    def handle(self, notice: Notice, now: float) -> list[Answer]:
        """Take in what happened and say who has what."""
        now = max(now, self.now)
        if self._members.bags:
            self._members.serve(now - self.now)
        self.now = now
        _RULES[type(notice)](self, notice)
        anew = type(notice) not in _SHARES_STAND
        grants = self._slots.share(self._sharing, now, anew=anew)
        if type(notice) is Came:
            grants += self._left_as_it_is(notice, grants)
        if grants:
            self._pause = QUANTUM_SECONDS
        return [
            *self._arrange(),
            *grants,
            *self._limits(),
            *self._caps.allowances(now),
            *self._wake(),
        ]

    # --- what may be known of it ------------------------------------------------------------------

    @property
    def slots(self) -> int:
        """Those of all common machines."""
        return self._slots.count

    def leaving(self, bag: BagId) -> dict[MachineId, int]:
        """Slots that this bag is said to fill beyond its grants: others wait for its `Fills`."""
        member = self._members.bags.get(bag)
        if member is None or member.held == member.granted.total():
            return {}
        return {one.id: one.fills[bag] for one in self._slots.machines.values() if bag in one.fills}

    def limit(self, bag: BagId, place: str) -> int | None:
        """None of one that has no part in it."""
        scarce = self._scarce.get(place)
        part = scarce.parts.get(bag) if scarce else None
        return part.limit if part else None

    def allowance(self, bag: BagId) -> Money | None:
        """All that it may have committed; None under no cap."""
        return self._caps.allowance(bag)

    @property
    def since(self) -> tuple[float, ...]:
        """The times since when caps want to know what bags have committed; () without caps."""
        return self._caps.since

    def has(self, bag: BagId) -> bool:
        return bag in self._members.bags

    def granted(self, bag: BagId, machine: MachineId) -> int:
        known = self._slots.machines.get(machine)
        return known.granted.get(bag, 0) if known else 0

    def view(self) -> HouseholdView:
        return HouseholdView(
            self.sharing,
            self.placement.name,
            tuple(
                BagShare(
                    m.bag,
                    m.user,
                    m.served.weight,
                    m.priority,
                    m.needs,
                    m.granted.total(),
                    m.keeps.tasks,
                )
                for m in self._members.bags.values()
            ),
            tuple(
                MachineShares(
                    one.id, one.group.kind, one.slots, dict(one.granted), one.paid_by, one.until
                )
                for one in self._slots.machines.values()
            ),
            self._caps.view(),
        )

    def check(self) -> None:
        """Raise BrokenInvariantError unless the books agree, and no slot idles that is needed."""
        self._slots.check()
        for scarce in self._scarce.values():
            scarce.check(self._members.bags)
        self._caps.check()

    # --- rules ------------------------------------------------------------------------------------

    def _opened(self, notice: Opened) -> None:
        self._members.open(notice, self._user_weights.get(notice.user, 1.0))

    def _needs(self, notice: Needs) -> None:
        if member := self._members.bags.get(notice.bag):
            member.needs = notice.tasks

    def _keeps(self, notice: Keeps) -> None:
        if member := self._members.bags.get(notice.bag):
            member.keeps = notice
            for place, machines in notice.machines:
                if scarce := self._scarce.get(place):
                    scarce.keep(notice.bag, machines)

    def _weighed(self, notice: Weighed) -> None:
        if member := self._members.bags.get(notice.bag):
            member.served.weight, member.priority = notice.weight, notice.priority

    def _capped(self, notice: Capped) -> None:
        self._caps.stand(notice, self.now)

    def _committed(self, notice: Committed) -> None:
        self._caps.commit(notice)

    def _closed(self, notice: Closed) -> None:
        self._caps.close(notice.bag)
        if notice.bag in self._members.bags:
            for machine in self._slots.machines:
                self._slots.leave(notice.bag, machine)
            self._members.close(notice.bag)
            for scarce in self._scarce.values():
                scarce.forget(notice.bag)

    def _came(self, notice: Came) -> None:
        self._slots.came(notice)

    def _runs(self, notice: Runs) -> None:
        if member := self._members.bags.get(notice.bag):
            member.takes = frozenset(notice.kinds)

    def _went(self, notice: Went) -> None:
        self._slots.went(notice.machine)

    def _takes(self, notice: Takes) -> None:
        self._slots.take(notice.machine, takes=notice.takes)

    def _fills(self, notice: Fills) -> None:
        self._slots.fill(notice.bag, notice.machine, notice.slots)

    def _left(self, notice: Left) -> None:
        self._slots.leave(notice.bag, notice.machine)

    def _uses(self, notice: Uses) -> None:
        if notice.bag in self._members.bags:
            scarce = self._scarce.setdefault(notice.place, ScarceMachines(notice.place))
            scarce.use(notice)

    def _time_passed(self, _: TimePassed) -> None:
        if self._woken_at is not None and self.now < self._woken_at:
            return  # a wish that was replaced
        self._woken_at = None
        self._pause = min(_LONGEST_PAUSE_SECONDS, self._pause * 2)

    def _placed(self, notice: Placed) -> None:
        self.placement = placement(notice.placement)

    def _progressed(self, notice: Progressed) -> None:
        if member := self._members.bags.get(notice.bag):
            member.course = notice.course

    # --- after every notice -----------------------------------------------------------------------

    def _left_as_it_is(self, came: Came, grants: Sequence[Grant]) -> list[Grant]:
        """Tell those who run tasks on a machine that came: until then they count as many slots."""
        told = {(one.machine, one.bag) for one in grants}
        return [
            Grant(bag, came.machine, self.granted(bag, came.machine))
            for bag, _ in came.running
            if bag in self._members.bags and (came.machine, bag) not in told
        ]

    @property
    def _sharing(self) -> Sharing:
        return self.placement.sharing or self._policy

    def _arrange(self) -> list[Arrange]:
        order = self.placement.order(len(self._members.bags))
        changed = [one for one in self._members.bags.values() if one.order is not order]
        for member in changed:
            member.order = order
        return [Arrange(member.bag, order) for member in changed]

    def _limits(self) -> list[Limit]:
        """By weight alone: machines do not pass from hand to hand as slots do."""
        limits: list[Limit] = []
        for scarce in self._scarce.values():
            claims = [
                replace(
                    self._members.claim(
                        self._members.bags[bag], part.wanted, part.keeps, 1, self.now
                    ),
                    served=0.0,
                    user_served=0.0,
                )
                for bag, part in scarce.parts.items()
            ]
            limits += scarce.limits(self._policy.share(scarce.most, claims))
        return limits

    def _wake(self) -> list[WakeAt]:
        """Look again when the window of a cap ends, and while a bag waits for slots of another."""
        at = min(self._caps.until, self._next_turn())
        if math.isinf(at) or (self._woken_at is not None and self._woken_at <= at):
            return []
        self._woken_at = at
        return [WakeAt(at)]

    def _next_turn(self) -> float:
        """The more seldom the longer who waits does so in vain."""
        waits = any(one.short for one in self._members.bags.values())
        alone = len(self._members.bags) < 2
        if not self._sharing.takes_turns or not waits or alone:
            return math.inf
        return self.now + self._pause


# After these nobody's share is another, but slots may be free that somebody waits for.
_SHARES_STAND: Final = frozenset({Fills, Uses, Committed, Capped})

_RULES: Final[Mapping[type, Callable[[Household, Any], None]]] = {
    Opened: Household._opened,  # noqa: SLF001
    Needs: Household._needs,  # noqa: SLF001
    Keeps: Household._keeps,  # noqa: SLF001
    Weighed: Household._weighed,  # noqa: SLF001
    Closed: Household._closed,  # noqa: SLF001
    Came: Household._came,  # noqa: SLF001
    Runs: Household._runs,  # noqa: SLF001
    Went: Household._went,  # noqa: SLF001
    Takes: Household._takes,  # noqa: SLF001
    Fills: Household._fills,  # noqa: SLF001
    Left: Household._left,  # noqa: SLF001
    Uses: Household._uses,  # noqa: SLF001
    Capped: Household._capped,  # noqa: SLF001
    Committed: Household._committed,  # noqa: SLF001
    Placed: Household._placed,  # noqa: SLF001
    Progressed: Household._progressed,  # noqa: SLF001
    TimePassed: Household._time_passed,  # noqa: SLF001
}
