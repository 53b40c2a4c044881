"""The household: a pure state machine above the engines, one for all bags that run side by side.

Notices and the time go in, commands come out; the same notices give the same commands. It says
which slots of the common machines a bag has, and how many machines of an offering it may have. That
reaches the bag's engine as an event of its own journal, so that each bag is replayed alone.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.master.brain.household.caps import Caps, CapView
from bats.master.brain.household.common_machines import CommonMachine, Group, tasks_in
from bats.master.brain.household.members import Member, Members
from bats.master.brain.household.notices import (
    Answer,
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
    TimePassed,
    Uses,
    Weighed,
    Went,
)
from bats.master.brain.household.scarce_machines import ScarceMachines
from bats.master.brain.household.sharing import QUANTUM_SECONDS, SHARINGS, Claim
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
    needs: int  # tasks that it could run
    slots: int  # that it has


@dataclass(frozen=True, slots=True)
class HouseholdView:
    sharing: str
    bags: tuple[BagShare, ...]
    machines: tuple[MachineShares, ...]
    caps: tuple[CapView, ...]


class Household:
    """`user_weights` say how much users count for, 1 those that it does not name."""

    def __init__(
        self, sharing: str = "fair", user_weights: Mapping[str, float] | None = None
    ) -> None:
        self.sharing = sharing
        self.now = 0.0
        self.slots = 0  # of all common machines
        self._policy = SHARINGS[sharing]()
        self._user_weights = dict(user_weights or {})
        self._members = Members()
        self._machines: dict[MachineId, CommonMachine] = {}
        self._awaited: set[Group] = set()  # whose slots are on their way to bags, or do not suffice
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
        if grants:
            self._pause = QUANTUM_SECONDS
        return [*grants, *self._limits(), *self._caps.allowances(now), *self._wake()]

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
                MachineShares(one.id, one.group.kind, one.slots, dict(one.granted))
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
            if member.places != sum(_places(one, member) for one in self._machines.values()):
                raise BrokenInvariantError(
                    f"bag {member.bag} is said to have {member.places} places"
                )
            idle = any(
                one.free >= one.group.size.width(member.task)
                for one in self._machines.values()
                if _takes(member, one.group) and one.group not in self._awaited
            )
            if idle and member.short:
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
            member.needs = notice.tasks

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
        machine = CommonMachine(notice.machine, notice.size, notice.kind)
        self._machines[machine.id] = machine
        self.slots += machine.slots
        for bag, slots in notice.running:
            if member := self._members.bags.get(bag):
                with self._reckoned(member, machine):
                    machine.fill(bag, slots)

    def _went(self, notice: Went) -> None:
        if machine := self._machines.pop(notice.machine, None):
            self.slots -= machine.slots
            for member in self._members.bags.values():
                with self._reckoned(member, machine):
                    machine.forget(member.bag)

    def _fills(self, notice: Fills) -> None:
        machine, member = self._machines.get(notice.machine), self._members.bags.get(notice.bag)
        if machine is not None and member is not None:
            with self._reckoned(member, machine):
                machine.fill(member.bag, notice.slots)

    def _left(self, notice: Left) -> None:
        machine, member = self._machines.get(notice.machine), self._members.bags.get(notice.bag)
        if machine is not None and member is not None:
            with self._reckoned(member, machine):
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

    # --- after every notice -----------------------------------------------------------------------

    def _share(self) -> list[Grant]:
        """Grants that bring each bag nearer to its share, group by group of machines."""
        changed: dict[tuple[MachineId, BagId], int] = {}
        had = dict.fromkeys(self._members.bags, 0)  # tasks with places in groups shared already
        for group in dict.fromkeys(machine.group for machine in self._machines.values()):
            machines = [one for one in self._machines.values() if one.group == group]
            members = [one for one in self._members.bags.values() if _takes(one, group)]
            slots = sum(one.slots for one in machines)
            claims = [
                self._claim(one, max(0, one.needs - had[one.bag]), group, len(machines))
                for one in members
            ]
            wanted = dict(self._policy.share(slots, claims))
            _round_up(wanted, slots, claims)
            _leave_the_rest(wanted, slots, group, members)
            self._withdraw(machines, wanted, changed)
            self._give(machines, wanted, changed)
            for claim in claims:
                had[claim.bag] += self._members.bags[claim.bag].granted[group] // claim.width
            if any(share > self._members.bags[bag].granted[group] for bag, share in wanted.items()):
                self._awaited.add(group)
            else:
                self._awaited.discard(group)
        return [Grant(bag, machine, slots) for (machine, bag), slots in changed.items()]

    def _claim(self, member: Member, tasks: int, group: Group, machines: int) -> Claim:
        """What the bag may claim of so many machines: no more than they hold of its tasks."""
        width = group.size.width(member.task)
        fit = min(tasks, machines * group.size.holds(member.task))
        return self._members.claim(member, min(fit * width, machines * group.size.cpus), width)

    def _withdraw(
        self,
        machines: list[CommonMachine],
        wanted: Mapping[BagId, int],
        changed: dict[tuple[MachineId, BagId], int],
    ) -> None:
        for bag, share in wanted.items():
            over = self._members.bags[bag].granted[machines[0].group] - share
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
            width = machines[0].group.size.width(member.task)
            under = share - member.granted[machines[0].group]
            if under < width:
                continue
            for machine in sorted(machines, key=lambda one: -_room(one, bag)):
                before = machine.granted.get(bag, 0)
                more = min(under, _room(machine, bag))
                if before + more < machine.slots:  # of a whole machine it has what is left over too
                    more = more // width * width
                if more > 0:
                    slots = before + more
                    self._grant(machine, bag, slots, changed)
                    under -= more

    def _grant(
        self,
        machine: CommonMachine,
        bag: BagId,
        slots: int,
        changed: dict[tuple[MachineId, BagId], int],
    ) -> None:
        with self._reckoned(self._members.bags[bag], machine):
            machine.grant(bag, slots)
        changed[machine.id, bag] = slots

    @contextmanager
    def _reckoned(self, member: Member, machine: CommonMachine) -> Iterator[None]:
        """Whatever changes of what the bag has there is reckoned to it."""
        bag = member.bag
        member.held -= machine.held(bag)
        member.places -= _places(machine, member)
        member.granted[machine.group] -= machine.granted.get(bag, 0)
        yield
        member.held += machine.held(bag)
        member.places += _places(machine, member)
        member.granted[machine.group] += machine.granted.get(bag, 0)

    def _limits(self) -> list[Limit]:
        """By weight alone: machines do not pass from hand to hand as slots do."""
        limits: list[Limit] = []
        for scarce in self._scarce.values():
            claims = [
                replace(
                    self._members.claim(self._members.bags[bag], part.wanted, 1),
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
        if not self._policy.takes_turns or not waits or alone:
            return math.inf
        return self.now + self._pause


def _room(machine: CommonMachine, bag: BagId) -> int:
    return machine.free + machine.held(bag) - machine.granted.get(bag, 0)


def _takes(member: Member, group: Group) -> bool:
    return group.kind in member.takes and group.size.holds(member.task) > 0


def _places(machine: CommonMachine, member: Member) -> int:
    """The tasks that have room in what the bag holds of the machine."""
    return tasks_in(machine.held(member.bag), member.task, machine.group.size)


def _round_up(wanted: dict[BagId, int], slots: int, claims: list[Claim]) -> None:
    """Slots that the shares of users do not divide by go to who has had least and has a use."""
    rest = slots - sum(wanted.values())
    for claim in sorted(claims, key=lambda one: one.served):
        more = min(rest, claim.needs - wanted[claim.bag]) // claim.width * claim.width
        wanted[claim.bag] += more
        rest -= more


def _leave_the_rest(
    wanted: dict[BagId, int], slots: int, group: Group, members: list[Member]
) -> None:
    """Slots that nobody needs stay where they are, and new ones go to the first that runs tasks."""
    rest = slots - sum(wanted.values())
    members = [member for member in members if member.needs]
    for member in members:
        kept = min(rest, max(0, member.granted[group] - wanted[member.bag]))
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
    TimePassed: Household._time_passed,  # noqa: SLF001
}
