"""The household: a pure state machine above the engines, one for all bags that run side by side.

Notices and the time go in, commands come out; the same notices give the same commands. It says
which slots of the common machines a bag has, and how many machines of an offering it may have. That
reaches the bag's engine as an event of its own journal, so that each bag is replayed alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.master.brain.household.caps import Caps, CapView
from bats.master.brain.household.common_machines import CommonMachine
from bats.master.brain.household.members import Member, Members
from bats.master.brain.household.notices import (
    Answer,
    Arrange,
    Came,
    Capped,
    Closed,
    Committed,
    Fills,
    Grant,
    Left,
    Limit,
    Needs,
    Notice,
    Opened,
    Placed,
    Progressed,
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


@dataclass(frozen=True, slots=True)
class BagShare:
    """A bag's part of the common machines."""

    bag: BagId
    user: str
    weight: float
    priority: int
    needs: int
    slots: int  # that it has


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
    ) -> None:
        self.sharing = sharing
        self.now = 0.0
        self.slots = 0  # of all common machines
        self._policy = SHARINGS[sharing]()
        self.placement = placement(placement_name)
        self._user_weights = dict(user_weights or {})
        self._members = Members()
        self._machines: dict[MachineId, CommonMachine] = {}
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
        grants = self._share()
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

    def leaving(self, bag: BagId) -> dict[MachineId, int]:
        """Slots that this bag is said to fill beyond its grants: others wait for its `Fills`."""
        member = self._members.bags.get(bag)
        if member is None or member.held == member.granted.total():
            return {}
        return {one.id: one.fills[bag] for one in self._machines.values() if bag in one.fills}

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
        known = self._machines.get(machine)
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
                )
                for m in self._members.bags.values()
            ),
            tuple(
                MachineShares(one.id, one.kind, one.slots, dict(one.granted))
                for one in self._machines.values()
            ),
            self._caps.view(),
        )

    def check(self) -> None:
        """Raise BrokenInvariantError unless the books agree, and no slot idles that is needed."""
        members = self._members.bags
        for machine in self._machines.values():
            machine.check(members)
        for member in members.values():
            held = sum(one.held(member.bag) for one in self._machines.values())
            granted = sum(one.granted.get(member.bag, 0) for one in self._machines.values())
            if (held, granted) != (member.held, member.granted.total()):
                raise BrokenInvariantError(f"bag {member.bag} is said to hold {member.held} slots")
            takes = [one for one in self._machines.values() if one.kind in member.takes]
            room = max((one.free for one in takes), default=0)
            if member.needs - held >= member.width <= room:
                raise BrokenInvariantError(f"slots idle though bag {member.bag} needs some")
        for scarce in self._scarce.values():
            scarce.check(members)
        self._caps.check()
        if self.slots != sum(one.slots for one in self._machines.values()):
            raise BrokenInvariantError("the household's slots are not those of its machines")

    # --- rules ------------------------------------------------------------------------------------

    def _opened(self, notice: Opened) -> None:
        self._members.open(notice, self._user_weights.get(notice.user, 1.0))

    def _needs(self, notice: Needs) -> None:
        if member := self._members.bags.get(notice.bag):
            member.needs = notice.slots

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
            self._members.close(notice.bag)
            for machine in self._machines.values():
                machine.forget(notice.bag)
            for scarce in self._scarce.values():
                scarce.forget(notice.bag)

    def _came(self, notice: Came) -> None:
        self._went(Went(notice.machine))
        machine = CommonMachine(notice.machine, notice.slots, notice.kind)
        self._machines[machine.id] = machine
        self.slots += machine.slots
        for bag, slots in notice.running:
            if bag in self._members.bags:
                machine.fill(bag, slots)
                self._members.bags[bag].held += slots

    def _went(self, notice: Went) -> None:
        if machine := self._machines.pop(notice.machine, None):
            self.slots -= machine.slots
            for member in self._members.bags.values():
                member.held -= machine.held(member.bag)
                member.granted[machine.kind] -= machine.granted.get(member.bag, 0)

    def _fills(self, notice: Fills) -> None:
        machine, member = self._machines.get(notice.machine), self._members.bags.get(notice.bag)
        if machine is not None and member is not None:
            before = machine.held(member.bag)
            machine.fill(member.bag, notice.slots)
            member.held += machine.held(member.bag) - before

    def _left(self, notice: Left) -> None:
        machine, member = self._machines.get(notice.machine), self._members.bags.get(notice.bag)
        if machine is not None and member is not None:
            member.held -= machine.held(member.bag)
            member.granted[machine.kind] -= machine.granted.get(member.bag, 0)
            machine.forget(member.bag)

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

    def _share(self) -> list[Grant]:
        """Grants that bring each bag nearer to its share, kind by kind of machine."""
        changed: dict[tuple[MachineId, BagId], int] = {}
        had = dict.fromkeys(self._members.bags, 0)  # of the kinds that are shared already
        for kind in dict.fromkeys(machine.kind for machine in self._machines.values()):
            machines = [one for one in self._machines.values() if one.kind == kind]
            members = [one for one in self._members.bags.values() if kind in one.takes]
            claims = [
                self._members.claim(one, max(0, one.needs - had[one.bag]), self.now)
                for one in members
            ]
            wanted = dict(self._sharing.share(sum(one.slots for one in machines), claims))
            _leave_the_rest(wanted, sum(one.slots for one in machines), kind, members)
            self._withdraw(machines, wanted, changed)
            self._give(machines, wanted, changed)
            for bag, slots in wanted.items():
                had[bag] += slots
        return [Grant(bag, machine, slots) for (machine, bag), slots in changed.items()]

    def _withdraw(
        self,
        machines: list[CommonMachine],
        wanted: Mapping[BagId, int],
        changed: dict[tuple[MachineId, BagId], int],
    ) -> None:
        for bag, share in wanted.items():
            over = self._members.bags[bag].granted[machines[0].kind] - share
            if over <= 0:
                continue
            for machine in sorted(machines, key=lambda one: -one.granted.get(bag, 0)):
                less = min(over, machine.granted.get(bag, 0))
                if less <= 0:
                    break
                self._grant(machine, bag, machine.granted[bag] - less, changed)
                over -= less

    def _give(
        self,
        machines: list[CommonMachine],
        wanted: Mapping[BagId, int],
        changed: dict[tuple[MachineId, BagId], int],
    ) -> None:
        """Slots that still are filled by its own count as free to a bag; others it waits for."""
        for bag, share in wanted.items():
            member = self._members.bags[bag]
            width = member.width
            under = share - member.granted[machines[0].kind]
            if under < width:
                continue
            for machine in sorted(machines, key=lambda one: -_room(one, bag)):
                more = min(under, _room(machine, bag)) // width * width
                if more > 0:
                    slots = machine.granted.get(bag, 0) + more
                    self._grant(machine, bag, slots, changed)
                    under -= more

    def _grant(
        self,
        machine: CommonMachine,
        bag: BagId,
        slots: int,
        changed: dict[tuple[MachineId, BagId], int],
    ) -> None:
        member = self._members.bags[bag]
        before = machine.held(bag)
        member.granted[machine.kind] += slots - machine.granted.get(bag, 0)
        machine.grant(bag, slots)
        member.held += machine.held(bag) - before
        changed[machine.id, bag] = slots

    def _limits(self) -> list[Limit]:
        """By weight alone: machines do not pass from hand to hand as slots do."""
        limits: list[Limit] = []
        for scarce in self._scarce.values():
            claims = [
                replace(
                    self._members.claim(self._members.bags[bag], part.wanted, self.now),
                    width=1,
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


def _room(machine: CommonMachine, bag: BagId) -> int:
    return machine.free + machine.held(bag) - machine.granted.get(bag, 0)


def _leave_the_rest(wanted: dict[BagId, int], slots: int, kind: str, members: list[Member]) -> None:
    """Slots that nobody needs stay where they are, and new ones go to the first that runs tasks."""
    rest = slots - sum(wanted.values())
    members = [member for member in members if member.needs]
    for member in members:
        kept = min(rest, max(0, member.granted[kind] - wanted[member.bag]))
        wanted[member.bag] += kept
        rest -= kept
    if members:
        wanted[members[0].bag] += rest


_RULES: Final[Mapping[type, Callable[[Household, Any], None]]] = {
    Opened: Household._opened,  # noqa: SLF001
    Needs: Household._needs,  # noqa: SLF001
    Weighed: Household._weighed,  # noqa: SLF001
    Closed: Household._closed,  # noqa: SLF001
    Came: Household._came,  # noqa: SLF001
    Went: Household._went,  # noqa: SLF001
    Fills: Household._fills,  # noqa: SLF001
    Left: Household._left,  # noqa: SLF001
    Uses: Household._uses,  # noqa: SLF001
    Capped: Household._capped,  # noqa: SLF001
    Committed: Household._committed,  # noqa: SLF001
    Placed: Household._placed,  # noqa: SLF001
    Progressed: Household._progressed,  # noqa: SLF001
    TimePassed: Household._time_passed,  # noqa: SLF001
}
