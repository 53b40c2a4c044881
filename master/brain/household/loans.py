"""Loans: paid time that one bag has no use for runs tasks of others; between engines and household.

To the household a machine that is lent is a common one, of a kind of its own: those bags take it
that could have hired it themselves, and have tasks that should end in time. A machine that costs
nothing serves its own bag and all that find none left of its offering, by their shares.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bats.common.capacity.resources import Resources
from bats.common.messages import BagId, MachineId
from bats.common.records import dataclass
from bats.master.brain.engine import Engine
from bats.master.brain.household.common_machines import slots_of
from bats.master.brain.household.notices import Came, Notice, Runs, Takes, Went
from bats.master.brain.protocol.events import Borrowed, Lends, TakenBack, Unwanted

if TYPE_CHECKING:
    from bats.master.brain.household.neighbours import Neighbour, Neighbours


@dataclass(frozen=True, slots=True)
class Loan:
    """A machine that its bag lends, by the household's clock until then."""

    owner: BagId
    place: str
    until: float
    used: int  # places that the owner's tasks fill
    free: Resources
    shared: bool = False  # it costs nothing: its owner has no more of it than its share

    def outlives(self, until: float) -> bool:
        """True if it was announced for longer than that."""
        return self.until > until + 1e-6


class Loans:
    def __init__(self, neighbours: "Neighbours") -> None:
        self._of = neighbours
        self.lent: dict[MachineId, Loan] = {}
        self._waiting: dict[BagId, set[str]] = {}  # for free machines of places that others have
        self._closing: set[BagId] = set()  # what these have is taken back, and not lent again

    @property
    def slots(self) -> int:
        """Of all that is lent."""
        return sum(loan.free.cpus for loan in self.lent.values())

    # --- who lends --------------------------------------------------------------------------------

    def agree(self) -> None:
        """Tell each bag whether any other could use what it leaves."""
        bags = self._of.bags
        places = {bag: {place.name for place in one.places.values()} for bag, one in bags.items()}
        bags_at = Counter(place for names in places.values() for place in names)
        for bag, one in list(bags.items()):
            shared = any(bags_at[place] > 1 for place in places[bag])
            wanted = self._of.household.lending and shared
            if wanted != one.door.engine.lends:
                one.door.deliver(Lends(wanted))

    def look(self, bag: BagId, one: "Neighbour") -> None:
        """After each event of a bag: see what it lends, and what it can use of others'."""
        engine = one.door.engine
        self._share_free(bag, one)
        self._share_with_waiting(bag, one)
        if engine.lends or any(loan.owner == bag for loan in self.lent.values()):
            for machine, loan in [its for its in self.lent.items() if its[1].owner == bag]:
                if loan.shared:
                    self._see_whether_it_stays(machine, engine)
                    continue
                still = engine.spare().get(machine)  # what is taken back may change what is spare
                until = one.door.began + still.until if still else 0.0
                if still is None or still.used > loan.used or loan.outlives(until):
                    self.take_back(machine)
            for machine, (until, used) in engine.spare().items():
                known = self.lent.get(machine)
                if known is None or used < known.used:
                    self._lend(bag, one, machine, one.door.began + until, used)
        if self.lent:
            self._see_what_fits(bag, one)

    def _share_free(self, bag: BagId, one: "Neighbour") -> None:
        """Have a part of a free machine of others', where the bag finds none left and has none."""
        engine = one.door.engine
        self._waiting.pop(bag, None)
        if not self._of.household.lending or not engine.needs:
            return
        for cluster, place in one.places.items():
            free = engine.settings.offerings[cluster].free
            if not free or engine.limit(cluster) or engine.appetite(cluster)[0]:
                continue
            self._waiting.setdefault(bag, set()).add(place.name)
            for owner, its in self._of.bags.items():
                if owner != bag:
                    self._share_all(owner, its, place.name, bag)

    def _share_with_waiting(self, bag: BagId, one: "Neighbour") -> None:
        """Of the owners only this one has changed."""
        if not self._waiting or not self._of.household.lending:
            return
        for place in dict.fromkeys(place.name for place in one.places.values()):
            waiting = [other for other, at in self._waiting.items() if place in at and other != bag]
            for other in waiting:
                self._share_all(bag, one, place, other)

    def _share_all(self, owner: BagId, one: "Neighbour", place: str, waiting: BagId) -> None:
        """Have all machines of that place run those who wait for one."""
        mine = None if owner in self._closing else _cluster(one, place)
        for known in one.door.engine.alive() if mine is not None else ():
            if known.cluster == mine and known.wanted and known.joined_at is not None:
                self._waiting.pop(waiting, None)
                self._share(owner, one, known.id, place)

    def _share(self, bag: BagId, one: "Neighbour", machine: MachineId, place: str) -> None:
        if machine in self.lent or not one.door.engine.works_as_usual(machine):
            return
        size = one.door.size(machine)
        self.lent[machine] = Loan(bag, place, math.inf, 0, size, shared=True)
        self._of.machines[machine] = size
        for other, its in self._of.bags.items():
            self._see_what_fits(other, its)  # its owner takes it, before it is one that many have
        self._came(machine, size, bag, math.inf, but=None)
        for other, its in self._of.bags.items():
            self._of.ask_needs(other, its)

    def _see_whether_it_stays(self, machine: MachineId, engine: Engine) -> None:
        known = engine.machine(machine)
        if known is None or not known.wanted:
            self.take_back(machine)
        elif engine.keeps_for_others:
            self._tell(Takes(machine, takes=False))  # what runs there ends, as its bag has

    def _lend(
        self, bag: BagId, one: "Neighbour", machine: MachineId, until: float, used: int
    ) -> None:
        cluster = one.door.engine.cluster_of(machine)
        free = _rest(one.door.size(machine), one.opened.task, used)
        if cluster not in one.places or free.cpus < 1:
            return
        loan = self.lent[machine] = Loan(bag, one.places[cluster].name, until, used, free)
        self._of.machines[machine] = free
        self._came(machine, free, bag, loan.until, but=bag)
        for other, its in self._of.bags.items():
            if other != bag:
                self._see_what_fits(other, its)
                self._of.ask_needs(other, its)

    def _came(
        self, machine: MachineId, free: Resources, owner: BagId, until: float, but: BagId | None
    ) -> None:
        running = tuple(
            (other, slots_of(fills, its.opened.task, free))
            for other, its in self._of.bags.items()
            if other != but and (fills := its.door.engine.fills(machine))
        )
        self._tell(
            Came(
                machine, free.cpus, _kind(machine), running, free.memory_bytes, free.gpus,
                owner, until,
            )
        )  # fmt: skip

    def _see_what_fits(self, bag: BagId, one: "Neighbour") -> None:
        could = {
            machine: (cluster, loan.until - one.door.began)
            for machine, loan in self.lent.items()
            if loan.owner != bag
            and loan.free.holds(one.opened.task)
            and (cluster := _cluster(one, loan.place)) is not None
        }
        fit = one.door.engine.fitting(list(could.values())) if could else ()
        takes = tuple(_kind(machine) for machine, fits in zip(could, fit, strict=True) if fits)
        takes += tuple(
            _kind(machine)
            for machine, loan in self.lent.items()
            if loan.owner == bag and loan.shared
        )
        if takes != one.borrows:
            one.borrows = takes
            self._tell(Runs(bag, (*one.opened.takes, *takes)))

    # --- who borrows ------------------------------------------------------------------------------

    def join(self, one: "Neighbour", machine: MachineId, places: int) -> None:
        """Let a bag have some of a machine that is lent."""
        loan = self.lent[machine]
        cluster = _cluster(one, loan.place)
        if cluster is not None:
            until = loan.until - one.door.began
            one.door.deliver(Borrowed(machine, cluster, places, until))

    def take_back(self, machine: MachineId) -> None:
        if self.lent.pop(machine, None) is None:
            return
        self._of.machines.pop(machine, None)
        self._tell(Went(machine))
        for one in list(self._of.bags.values()):
            if machine in one.door.engine.borrowed:
                one.door.deliver(TakenBack(machine))

    def forget_strays(self, opened: Iterable["Neighbour"]) -> None:
        """Give back what bags had borrowed under a master before, and nobody lends any more."""
        for one in opened:
            for machine in one.door.engine.borrowed:
                if machine not in self.lent:
                    one.door.deliver(TakenBack(machine))

    def close(self, bag: BagId, one: "Neighbour") -> None:
        """The bag runs no more."""
        self._waiting.pop(bag, None)
        self._closing.add(bag)
        for machine in one.door.engine.borrowed:
            one.door.deliver(TakenBack(machine))
        for machine in [m for m, loan in self.lent.items() if loan.owner == bag]:
            self.take_back(machine)
        self._closing.discard(bag)

    def dismiss(self) -> bool:
        """Let bags that have ended stop what nobody uses; True if there was any."""
        owners = {loan.owner for loan in self.lent.values()}
        ended = {bag for bag in owners if self._of.bags[bag].door.engine.keeps_for_others}
        for machine, loan in self.lent.items() if ended else ():
            if loan.owner in ended and not self._is_used(machine, loan.owner):
                self.take_back(machine)
                self._of.bags[loan.owner].door.deliver(Unwanted(machine))
                return True
        return False

    def _is_used(self, machine: MachineId, owner: BagId) -> bool:
        others = (one for bag, one in self._of.bags.items() if bag != owner)
        return any(one.door.engine.works_on(machine) for one in others)

    def _tell(self, notice: Notice) -> None:
        self._of.note(notice)


def _kind(machine: MachineId) -> str:
    return f"lent {machine}"


def _cluster(one: "Neighbour", place: str) -> int | None:
    """The offering of a bag by which it could have hired there."""
    return next((k for k, (name, _) in one.places.items() if name == place), None)


def _rest(size: Resources, task: Resources, used: int) -> Resources:
    """The part of a machine that so many tasks leave."""
    memory = size.memory_bytes - used * task.memory_bytes
    return Resources(
        max(0, size.cpus - used * task.cpus),
        max(1, memory) if size.memory_bytes else 0,
        max(0, size.gpus - used * task.gpus),
    )
