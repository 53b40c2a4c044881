"""Neighbours: word goes between the engines of bags that run side by side and their household.

Both drivers use it alike. After each event of a bag it tells the household what has changed, and
what that answers becomes an event of the bags concerned, one after the other: before a second bag
is told that it may have more, the first has said what it took.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple, Protocol

from bats.common.capacity.resources import Resources
from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.engine import Engine
from bats.master.brain.household.cap import Cap
from bats.master.brain.household.common_machines import slots_of, tasks_in
from bats.master.brain.household.household import Household
from bats.master.brain.household.loans import Loans
from bats.master.brain.household.notices import (
    Allowance,
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
    Spent,
    Takes,
    TimePassed,
    Uses,
    Weighed,
    Went,
)
from bats.master.brain.protocol.commands import WakeAt
from bats.master.brain.protocol.course import Course
from bats.master.brain.protocol.events import Allotted, Event, Granted, Limited, Ordered
from bats.master.brain.views.told.kept import Kept


class Door(Protocol):
    """The way to one bag."""

    @property
    def engine(self) -> Engine: ...

    @property
    def began(self) -> float:
        """The beginning of the bag's own time, by the household's clock."""
        ...

    def deliver(self, event: Event) -> None:
        """Let it happen to the bag."""
        ...

    def size(self, machine: MachineId) -> Resources:
        """All that a machine has which the bag pays for."""
        ...

    def join(self, machine: MachineId, places: int) -> None:
        """A common machine is there for the bag, with places for so many of its tasks."""
        ...


class Payer(Protocol):
    """A pool, whose machines serve all bags: caps hold what it spends as what bags do."""

    @property
    def committed(self) -> Money: ...

    @property
    def waits_for_cap(self) -> bool: ...

    @property
    def allowance(self) -> Money | None: ...

    def committed_since(self, at: float) -> Money:
        """The money for ATUs that begin at that time of the calendar or later."""
        ...

    def allot(self, told: Allotted) -> None:
        """It may have committed so much from now on."""
        ...


class Place(NamedTuple):
    """One kind of machine that bags may have in common: offerings of the same place compete."""

    name: str
    most: int  # machines


@dataclass(slots=True)
class Neighbour:
    """One bag, and what the household was told of it last."""

    door: Door
    opened: Opened
    places: Mapping[int, Place]  # by the numbers of its offerings
    needs: int = 0
    uses: dict[int, tuple[int, int]] = field(default_factory=dict)
    course: Course | None = None
    kept: Kept | None = None
    committed: tuple[Money, bool, tuple[float, ...]] | None = None  # as it was told
    borrows: tuple[str, ...] = ()  # kinds of machines of other bags that it can use


@dataclass(slots=True)
class Account:
    """A payer, the name and currency by which caps hold it, and what was told of it last."""

    payer: Payer
    name: str
    currency: str
    told: tuple[Money, bool, tuple[float, ...]] | None = None


class Neighbours:
    def __init__(
        self,
        household: Household,
        clock: Callable[[], float],
        wake: Callable[[float], None],
    ) -> None:
        self.household = household
        self.machines: dict[MachineId, Resources] = {}  # common ones, and what they have
        self.witness: Callable[[float, Notice, list[Answer]], None] | None = None
        self._clock = clock
        self._wake = wake  # calls `time_passed` at that time
        self.bags: dict[BagId, Neighbour] = {}
        self.loans = Loans(self)
        self._accounts: dict[BagId, Account] = {}
        self._notices: deque[Notice] = deque()
        self._answers: deque[Iterator[Answer]] = deque()
        self._busy = False

    # --- what the driver tells --------------------------------------------------------------------

    def open(self, *bags: tuple[Opened, Door, Mapping[int, Place]]) -> None:
        """Before they begin or go on, so that they are told first what they may have."""
        for told, door, places in bags:
            opened = replace(told, began=door.began, order=door.engine.order)
            self.bags[opened.bag] = neighbour = Neighbour(door, opened, places)
            self._notices.append(opened)
            for cluster, (place, most) in places.items():
                limit = door.engine.limit(cluster)
                uses = neighbour.uses[cluster] = door.engine.appetite(cluster)
                self._notices.append(Uses(opened.bag, place, *uses, most, limit))
        self.loans.agree()
        was_alone = len(self.bags) <= len(bags) + 1  # and was asked for less
        for bag in list(self.bags) if was_alone else [told.bag for told, _, _ in bags]:
            self._ask(bag)
        self._run()
        self.loans.forget_strays([self.bags[told.bag] for told, _, _ in bags])
        for told, door, _ in bags:
            if not self.household.since and door.engine.allowance is not None:
                self._allow(told.bag, Allowance(told.bag, None))  # it ran under a cap

    def pay(self, number: BagId, payer: Payer, name: str, currency: str) -> None:
        """A pool spends money under the caps, as it is numbered among bags."""
        self._accounts[number] = Account(payer, name, currency)
        self._run()
        if not self.household.since and payer.allowance is not None:
            payer.allot(Allotted(None))  # it ran under a cap

    def settle(self) -> None:
        """Something has happened to a pool, by which what it has committed may have changed."""
        self._run()

    def takes(self, machine: MachineId, *, takes: bool) -> None:
        """A common machine gets new tasks from now on, or none."""
        if machine in self.machines:
            self.tell(Takes(machine, takes))

    def close(self, bag: BagId) -> None:
        if bag in self.bags:
            self._count()
            self.loans.close(bag, self.bags[bag])
            del self.bags[bag]
            self.tell(Closed(bag))
            self.loans.agree()

    def weigh(self, bag: BagId, weight: float, priority: int) -> None:
        self.tell(Weighed(bag, weight, priority))

    def place(self, placement: str) -> None:
        """Let the placement of this name decide from now on. Raises UsageError for none."""
        self.tell(Placed(placement))
        for bag in list(self.bags):
            self.look(bag)

    def came(self, machine: MachineId, size: Resources, kind: str = "") -> None:
        """A common machine joined, or joined again: bags that run tasks there go on with them."""
        self.machines[machine] = size
        running = tuple(
            (bag, fills)
            for bag, one in self.bags.items()
            if (fills := slots_of(one.door.engine.fills(machine), one.opened.task, size))
        )
        self.tell(Came(machine, size.cpus, kind, running, size.memory_bytes, size.gpus))
        for bag in list(self.bags):
            self.look(bag)  # it was not asked for more than there was

    def went(self, *machines: MachineId) -> None:
        """Of several all are gone before what they leave to others begins anywhere."""
        for machine in machines:
            if self.machines.pop(machine, None) is not None:
                self._notices.append(Went(machine))
        self._run()

    def time_passed(self) -> None:
        self.tell(TimePassed())

    def cap(self, caps: Iterable[Cap], spent: Iterable[Spent]) -> None:
        """Let these caps stand; with what bags have spent that do not run."""
        self.tell(Capped(tuple(caps), tuple(spent)))

    def look(self, bag: BagId) -> None:
        """After each event of a bag: tell the household what it needs to know."""
        if bag in self.bags:
            self._ask(bag)
            self._run()

    def _ask(self, bag: BagId) -> None:
        one = self.bags[bag]
        engine = one.door.engine
        if len(self.bags) > 1 or self.loans.lent:
            self.loans.look(bag, one)
        self.ask_needs(bag, one)
        if len(self.bags) == 1:
            return
        for cluster, (place, most) in one.places.items():
            uses = engine.appetite(cluster)
            if uses != one.uses[cluster]:
                one.uses[cluster] = uses
                self._notices.append(Uses(bag, place, *uses, most, most))
        self._tell_kept(bag, one)
        if self.household.placement.asks:
            course = engine.course(self.household.placement.generations)
            if course != one.course:
                one.course = course
                self._notices.append(Progressed(bag, course))
        for machine, said in self.household.leaving(bag).items():
            if machine not in self.machines:
                continue  # it went, which is told next
            fills = slots_of(engine.fills(machine), one.opened.task, self.machines[machine])
            if fills != said:
                self._notices.append(Fills(bag, machine, fills))

    def _tell_kept(self, bag: BagId, one: Neighbour) -> None:
        kept = one.door.engine.keeps
        if kept == one.kept:
            return
        one.kept = kept
        if kept is None:
            self._notices.append(Keeps(bag, math.inf, 0, _of_places(one, ())))
        else:
            since, machines = one.door.began + kept.since, _of_places(one, kept.machines)
            self._notices.append(Keeps(bag, since, kept.places, machines))

    def ask_needs(self, bag: BagId, one: Neighbour) -> None:
        """Not for more than there is, nor by a bag that has no neighbour."""
        most = self.household.slots + self.loans.slots if len(self.bags) > 1 else 1
        needs = min(one.door.engine.needs, most)
        if needs != one.needs:
            one.needs = needs
            self._notices.append(Needs(bag, needs))

    def left(self, bag: BagId, machine: MachineId) -> None:
        """The bag let a common machine go."""
        if machine in self.machines:
            self.tell(Left(bag, machine))

    def tell(self, notice: Notice) -> None:
        self.note(notice)
        self._run()

    def note(self, notice: Notice) -> None:
        """Tell it with what is told next."""
        self._notices.append(notice)

    # --- what becomes of it -----------------------------------------------------------------------

    def _run(self) -> None:
        """All that was told, and what it leads to; what arises meanwhile is told before the rest.

        Answers that are out of date by then are not carried out.
        """
        if self._busy:
            return
        self._busy = True
        try:
            while self._count() or self._notices or self._answers or self.loans.dismiss():
                if self._notices:
                    notice, now = self._notices.popleft(), self._clock()
                    answers = self.household.handle(notice, now)
                    if self.witness is not None:
                        self.witness(now, notice, answers)
                    self._answers.appendleft(iter(self._take_away(answers)))
                elif not self._answers:
                    continue  # what was dismissed has been told
                elif (answer := next(self._answers[0], None)) is None:
                    self._answers.popleft()
                else:
                    self._carry_out(answer)
        finally:
            self._busy = False

    def _count(self) -> bool:
        """Tell what bags have committed since it was told, before any other acts."""
        since = self.household.since
        if not since:
            return False
        for bag, one in self.bags.items():
            engine = one.door.engine
            now = engine.committed, engine.waits_for_cap, since
            if one.committed != now and _pays(engine):
                one.committed = now
                began = one.door.began
                by_window = tuple((at, engine.committed_since(at - began)) for at in since)
                spent = Spent(bag, one.opened.user, engine.settings.currency, by_window)
                self._notices.append(Committed(spent, now[0], engine.allowance, now[1]))
        self._count_accounts(since)
        return bool(self._notices)

    def _count_accounts(self, since: tuple[float, ...]) -> None:
        for number, one in self._accounts.items():
            payer = one.payer
            now = payer.committed, payer.waits_for_cap, since
            if one.told != now:
                one.told = now
                by_window = tuple((at, payer.committed_since(at)) for at in since)
                spent = Spent(number, one.name, one.currency, by_window)
                self._notices.append(Committed(spent, now[0], payer.allowance, now[1]))

    def _take_away(self, answers: Iterable[Answer]) -> list[Answer]:
        """Lower allowances at once, of which nothing comes; what is raised comes last of all."""
        rest: list[Answer] = []
        more: list[Answer] = []
        for answer in answers:
            if not isinstance(answer, Allowance):
                rest.append(answer)
            elif self._lowers(answer):
                self._carry_out(answer)
            else:
                more.append(answer)
        self._answers.append(iter(more))
        return rest

    def _lowers(self, told: Allowance) -> bool:
        one, account = self.bags.get(told.bag), self._accounts.get(told.bag)
        before = one.door.engine.allowance if one else account.payer.allowance if account else None
        return told.amount is not None and (before is None or told.amount <= before)

    def _carry_out(self, answer: Answer) -> None:
        match answer:
            case WakeAt(at):
                self._wake(at)
            case Grant(bag, machine, slots):
                there = bag in self.bags and machine in self.machines  # it may have gone since
                if there and slots == self.household.granted(bag, machine):
                    self._grant(self.bags[bag], machine, slots)
            case Allowance(bag, amount):
                if amount == self.household.allowance(bag):
                    self._allow(bag, answer)
            case Arrange(bag, order):
                if bag in self.bags and order is not self.bags[bag].door.engine.order:
                    self.bags[bag].door.deliver(Ordered(order))
            case Limit(bag, place, machines):
                if bag in self.bags and machines == self.household.limit(bag, place):
                    self._limit(self.bags[bag], place, machines)

    def _allow(self, bag: BagId, allowance: Allowance) -> None:
        told = Allotted(allowance.amount, allowance.cap, allowance.until)
        if one := self.bags.get(bag):
            one.door.deliver(told)
        elif account := self._accounts.get(bag):
            account.payer.allot(told)

    def _grant(self, one: Neighbour, machine: MachineId, slots: int) -> None:
        engine = one.door.engine
        places = tasks_in(slots, one.opened.task, self.machines[machine])
        known = engine.machine(machine)
        if known is None or not known.wanted:
            if machine in self.loans.lent and places:
                self.loans.join(one, machine, places)
            elif places and engine.needs:
                one.door.join(machine, places)
        elif known.slots != places:
            one.door.deliver(Granted(machine, places))

    def _limit(self, one: Neighbour, place: str, machines: int) -> None:
        for cluster, (name, _) in one.places.items():
            if name == place:
                one.door.deliver(Limited(cluster, machines))


def _of_places(one: Neighbour, machines: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """Of each place so many, or none."""
    return tuple((place, machines[k] if machines else 0) for k, (place, _) in one.places.items())


def _pays(engine: Engine) -> bool:
    return any(not one.free for one in engine.settings.offerings)
