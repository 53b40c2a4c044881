"""Common slots: which bag has which slots of the machines that serve all, group by group."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId, MachineId
from bats.master.brain.household.common_machines import CommonMachine, Group, tasks_in
from bats.master.brain.household.members import Member, Members
from bats.master.brain.household.notices import Came, Grant
from bats.master.brain.household.sharing import Claim, Sharing


class CommonSlots:
    """Machines of one group are alike; what a bag has of them is reckoned to its member."""

    def __init__(self, members: Members) -> None:
        self.count = 0  # of all machines
        self.machines: dict[MachineId, CommonMachine] = {}
        self._members = members
        self._groups: dict[Group, dict[MachineId, CommonMachine]] = {}
        # Shares of bags that have less yet: slots are on their way to them, or do not suffice.
        self._awaited: dict[Group, dict[BagId, int]] = {}

    def came(self, notice: Came) -> None:
        self.went(notice.machine)
        machine = CommonMachine(notice)
        self.machines[machine.id] = machine
        self._groups.setdefault(machine.group, {})[machine.id] = machine
        self.count += machine.slots
        for bag, slots in notice.running:
            self.fill(bag, machine.id, slots)

    def went(self, number: MachineId) -> None:
        if machine := self.machines.get(number):
            for bag in self._members.bags:
                self.leave(bag, number)
            self.count -= machine.slots
            del self.machines[number]
            del self._groups[machine.group][number]
            if not self._groups[machine.group]:
                del self._groups[machine.group]
                self._awaited.pop(machine.group, None)

    def take(self, number: MachineId, *, takes: bool) -> None:
        """New tasks begin there from now on, or none."""
        if machine := self.machines.get(number):
            machine.takes = takes

    def fill(self, bag: BagId, number: MachineId, slots: int) -> None:
        machine, member = self.machines.get(number), self._members.bags.get(bag)
        if machine is not None and member is not None:
            with _reckoned(member, machine):
                machine.fill(bag, slots)

    def leave(self, bag: BagId, number: MachineId) -> None:
        machine, member = self.machines.get(number), self._members.bags.get(bag)
        if machine is not None and member is not None:
            with _reckoned(member, machine):
                machine.forget(bag)

    def check(self) -> None:
        """Raise BrokenInvariantError unless the books agree, and no slot idles that is needed."""
        members = self._members.bags
        machines = self.machines.values()
        for machine in machines:
            machine.check(members)
        for member in members.values():
            held = sum(one.held(member.bag) for one in machines)
            granted = sum(one.granted.get(member.bag, 0) for one in machines)
            places = sum(_places(one, member) for one in machines)
            if (held, granted, places) != (member.held, member.granted.total(), member.places):
                raise BrokenInvariantError(
                    f"bag {member.bag} is said to hold {member.held} slots for {member.places}"
                )
            idle = any(
                one.free >= one.group.size.width(member.task)
                for one in machines
                if one.takes and _takes(member, one.group) and one.group not in self._awaited
            )
            if idle and member.short:
                raise BrokenInvariantError(f"slots idle though bag {member.bag} needs some")
        if self.count != sum(one.slots for one in machines):
            raise BrokenInvariantError("the household's slots are not those of its machines")

    def share(self, policy: Sharing, now: float, *, anew: bool = True) -> list[Grant]:
        """Grants that bring each bag nearer to its share, group by group of machines.

        Unless `anew` the shares stand, and what is free by now goes to those who wait for it; in
        the groups behind theirs they need the less for that.
        """
        changed: dict[tuple[MachineId, BagId], int] = {}
        had: dict[BagId, int] | None = None  # tasks with places in groups before
        for k, (group, alike) in enumerate(self._groups.items()):
            if anew:
                had = self._had_before(k) if had is None else had
                self._share_anew(group, alike, policy, now, had, changed)
            elif waiting := self._awaited.get(group):
                before = len(changed)
                self._give([one for one in alike.values() if one.takes], waiting, changed)
                self._await(group, waiting)
                anew = len(changed) > before
        return [Grant(bag, machine, slots) for (machine, bag), slots in changed.items()]

    def _had_before(self, k: int) -> dict[BagId, int]:
        had = dict.fromkeys(self._members.bags, 0)
        for group in list(self._groups)[:k]:
            for member in self._members.bags.values():
                had[member.bag] += member.granted[group] // group.size.width(member.task)
        return had

    def _share_anew(
        self,
        group: Group,
        alike: Mapping[MachineId, CommonMachine],
        policy: Sharing,
        now: float,
        had: dict[BagId, int],
        changed: dict[tuple[MachineId, BagId], int],
    ) -> None:
        machines = [one for one in alike.values() if one.takes]
        if len(machines) < len(alike):
            self._withdraw_all([one for one in alike.values() if not one.takes], changed)
        taking, members = [], []
        for one in self._members.bags.values():
            takes = _takes(one, group)
            if takes or one.granted[group]:
                members.append(one)
            if takes:
                taking.append(one)
        slots = sum(one.slots for one in machines)
        claims = [self._claim(one, had[one.bag], group, len(machines), now) for one in members]
        wanted = dict(policy.share(slots, claims))
        _round_up(wanted, slots, claims)
        _leave_the_rest(wanted, slots, group, taking)
        self._withdraw(machines, wanted, changed)
        self._give(machines, wanted, changed)
        for claim in claims:
            had[claim.bag] += self._members.bags[claim.bag].granted[group] // claim.width
        self._await(group, wanted)

    def _await(self, group: Group, wanted: Mapping[BagId, int]) -> None:
        """Remember who has yet to be given what."""
        bags = self._members.bags
        waiting = {bag: to for bag, to in wanted.items() if to > bags[bag].granted[group]}
        if waiting:
            self._awaited[group] = waiting
        else:
            self._awaited.pop(group, None)

    def _withdraw_all(
        self, machines: list[CommonMachine], changed: dict[tuple[MachineId, BagId], int]
    ) -> None:
        for machine in machines:
            for bag in [bag for bag, slots in machine.granted.items() if slots]:
                self._grant(machine, bag, 0, changed)

    def _claim(self, member: Member, had: int, group: Group, machines: int, now: float) -> Claim:
        """The claim to so many machines: to no more than they hold of its other tasks."""
        width = group.size.width(member.task)
        most = machines * group.size.holds(member.task) if _takes(member, group) else 0
        needs, keeps = (
            min(max(0, min(tasks - had, most)) * width, machines * group.size.cpus)
            for tasks in (member.needs, member.keeps.tasks)
        )
        return self._members.claim(member, needs, keeps, width, now)

    def _withdraw(
        self,
        machines: list[CommonMachine],
        wanted: Mapping[BagId, int],
        changed: dict[tuple[MachineId, BagId], int],
    ) -> None:
        for bag, share in wanted.items() if machines else ():
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
        for bag, share in wanted.items() if machines else ():
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
        with _reckoned(self._members.bags[bag], machine):
            machine.grant(bag, slots)
        changed[machine.id, bag] = slots


@contextmanager
def _reckoned(member: Member, machine: CommonMachine) -> Iterator[None]:
    """Whatever changes of what the bag has there is reckoned to it."""
    bag = member.bag
    member.held -= machine.held(bag)
    member.places -= _places(machine, member)
    member.granted[machine.group] -= machine.granted.get(bag, 0)
    yield
    member.held += machine.held(bag)
    member.places += _places(machine, member)
    member.granted[machine.group] += machine.granted.get(bag, 0)


def _takes(member: Member, group: Group) -> bool:
    return group.kind in member.takes and group.size.holds(member.task) > 0


def _places(machine: CommonMachine, member: Member) -> int:
    """The tasks that have room in what the bag holds of the machine."""
    return tasks_in(machine.held(member.bag), member.task, machine.group.size)


def _round_up(wanted: dict[BagId, int], slots: int, claims: list[Claim]) -> None:
    """Slots that the shares of users do not divide by go to who has had least and has a use."""
    rest = slots - sum(wanted.values())
    for claim in sorted(claims, key=lambda one: one.served):
        more = max(0, min(rest, claim.needs - wanted[claim.bag])) // claim.width * claim.width
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


def _room(machine: CommonMachine, bag: BagId) -> int:
    return machine.free + machine.held(bag) - machine.granted.get(bag, 0)
