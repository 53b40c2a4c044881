"""A pool of the live master: which machines are started and ended. A pure state machine.

A scaler says how many there should be; this keeps to it as far as there is money. A machine lives
within ATUs that are reserved; so are those that it would enter if it ended late. It gets new tasks
only while a task of the told quantile would end before those do, so that no task is begun that
cannot be paid. With a task it is ended only where the task takes longer than that, and nothing
more can be reserved: caps win.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from bats.common.billing import charge, charge_atus
from bats.common.capacity.pool_rules import Pool
from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId
from bats.common.money import Money, show
from bats.common.offering import Offering
from bats.master.brain.books.ledger import Ledger
from bats.master.brain.books.machine import MachineState
from bats.master.brain.pools.pool_books import take_up
from bats.master.brain.pools.pool_events import Command, Event, Formed, Looked, Summed, TakesTasks
from bats.master.brain.pools.pool_kind import Kind
from bats.master.brain.pools.pool_machine import PoolMachine
from bats.master.brain.pools.pool_moment import MOMENTS, Moment
from bats.master.brain.pools.pool_words import why
from bats.master.brain.protocol.commands import (
    Decided,
    RenewLease,
    StartMachines,
    StopMachine,
    WakeAt,
)
from bats.master.brain.protocol.events import (
    Allotted,
    Announced,
    Cause,
    Charged,
    Gone,
    Joined,
    SetAside,
    Silent,
)

TOO_MANY: Final = "the pool has more machines than it needs"
NO_MONEY: Final = "the money of the pool does not pay for another ATU"
LOST: Final = "it has said nothing for long, and another is to take its place"
SILENCE: Final = "it has said nothing for long, and the time paid for it ends"

_FRUITLESS: Final = 3  # machines of a kind in a row that never came: then none is asked for
_FORGOTTEN_SECONDS: Final = 70 * 86400.0  # no window of a cap is as long


class StandingPool:
    """Events and the time go in, commands come out; the same ones for the same events."""

    def __init__(self, before_first: MachineId) -> None:
        self.pool: Pool | None = None  # until it is formed
        self.kinds: list[Kind] = []
        self.machines: dict[MachineId, PoolMachine] = {}  # the gone ones as long as windows last
        self.ledger = Ledger(None)
        self.cap: Allotted | None = None
        self.now = 0.0
        self.demand = 0
        self.target: list[int] = []
        self.task_seconds = 0.0
        self.short = ""  # of what it is short, in words
        self.trouble = ""  # of its scaler
        self.why = ""  # the last decision
        self.decided_at: float | None = None
        self.busy: set[MachineId] = set()
        self.last = before_first
        self.moments: deque[Moment] = deque(maxlen=MOMENTS)  # the last looks
        self.forgotten: Money = Money(0)  # what machines cost that were gone long ago
        self.woken_at = math.inf
        self.unsummed = 0  # events since the journal began, or since it was summed up

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take in what happened and say what to do."""
        self.now = max(now, self.now)
        self.unsummed += 1
        return list(_RULES[type(event)](self, event))

    # --- what may be known of it ------------------------------------------------------------------

    @property
    def rules(self) -> Pool:
        if self.pool is None:
            raise BrokenInvariantError("a pool is looked at that was never formed")
        return self.pool

    def alive(self) -> list[PoolMachine]:
        return [one for one in self.machines.values() if one.alive]

    def supply(self, kind: int) -> int:
        """Its machines of a kind, those that boot among them."""
        return sum(one.cluster == kind and one.supplies for one in self.machines.values())

    @property
    def places(self) -> int:
        """Places for tasks on machines that are there."""
        return sum(one.slots for one in self.machines.values() if one.state is MachineState.UP)

    @property
    def rate(self) -> Money:
        """The cost of all that is on, for an interval."""
        there = (one for one in self.machines.values() if one.counts)
        return Money(sum(self._per_interval(one.offering) for one in there))

    @property
    def committed(self) -> Money:
        return self.ledger.committed

    def committed_since(self, at: float) -> Money:
        """The money that is spent or reserved for ATUs that begin at that time or later."""
        recent = Money(sum(one.since(at) for one in self.machines.values()))
        return Money(recent + (self.forgotten if math.isinf(at) else 0))

    @property
    def waits_for_cap(self) -> bool:
        """True if a cap leaves too little for what it wants."""
        return bool(self.short) and self.ledger.allowance is not None

    def check(self) -> None:
        """Raise BrokenInvariantError unless the books agree."""
        self.ledger.check()
        reserved = sum(charge_atus(one.offering, one.held) for one in self.alive())
        if reserved != self.ledger.reserved:
            raise BrokenInvariantError("what is reserved is not what its machines may cost")

    # --- what happens -----------------------------------------------------------------------------

    def _formed(self, event: Formed) -> Iterator[Command]:
        """Kinds are known by their names; machines of one that it lacks now are too many."""
        known = {one.offering.name: one for one in self.kinds}
        offerings = list(event.pool.kinds)
        names = {one.name for one in offerings}
        for one in self.alive():
            if one.offering.name not in names:
                names.add(one.offering.name)
                offerings.append(one.offering)
        self.pool = event.pool
        self.last = max(self.last, event.last)
        self.kinds = []
        for offering in offerings:
            kind = known.get(offering.name) or Kind(offering)
            kind.offering = offering
            self.kinds.append(kind)
        places = {one.offering.name: k for k, one in enumerate(self.kinds)}
        for one in self.alive():
            one.cluster = places[one.offering.name]
        self.target = [self.supply(k) for k in range(len(self.kinds))]
        self.woken_at = math.inf
        yield from ()

    def _summed(self, event: Summed) -> Iterator[Command]:
        self.pool = event.pool
        take_up(self, event.books)
        self.unsummed = 0
        yield from ()

    def _looked(self, event: Looked) -> Iterator[Command]:
        self._forget()
        self.woken_at = math.inf
        self.demand, self.trouble = event.demand, event.trouble
        self.task_seconds = event.task_seconds
        self.busy = busy = set(event.busy)
        for one in self.alive():
            if one.id in busy or one.state is not MachineState.UP:
                one.idle_since = None
            elif one.idle_since is None:
                one.idle_since = self.now
        if event.want is not None:
            self.target = self._clipped(event.want)
        working = sum(one.slots for one in self.alive() if one.id in busy)
        self.moments.append(Moment(self.now, self.demand, self.places, working))
        self.short = ""
        before = [self.supply(k) for k in range(len(self.kinds))]
        ended = list(self._end())
        kept = list(self._keep())
        hired = list(self._hire()) if event.want is not None else []
        yield from ended + kept
        yield from hired
        words = why(self, before, ended, hired)
        if ended or hired:
            yield Decided(words)
        if event.want is not None or ended:
            self.why, self.decided_at = words, self.now
        yield from self._wake()

    def _charged(self, event: Charged) -> Iterator[Command]:
        one = self.machines.get(event.machine)
        if one is None:
            return  # another release asked for it, and this one would not have
        one.charged_since = event.since
        self._owe(one)
        yield from self._renewed(one)
        yield from self._wake()

    def _joined(self, event: Joined) -> Iterator[Command]:
        one = self.machines.get(event.machine)
        if one is None or not one.alive:
            return
        if one.state is not MachineState.STOPPING:
            kind = self.kinds[one.cluster]
            if one.joined_at is None:
                one.joined_at = self.now
                asked = one.requested_at if one.charged_since is None else one.charged_since
                kind.boots = [*kind.boots[-19:], max(0.0, self.now - asked)]
            kind.fruitless, kind.rest, kind.reason = 0, 0.0, ""
            one.move(MachineState.UP)
            one.slots = event.slots
        if one.charged_since is None:
            yield from self._charged(Charged(one.id, self.now))  # its provider is slow to say so

    def _silent(self, event: Silent) -> Iterator[Command]:
        one = self.machines.get(event.machine)
        if one is not None and one.state is MachineState.UP:
            one.move(MachineState.SILENT)
            one.idle_since = None
        yield from ()

    def _announced(self, event: Announced) -> Iterator[Command]:
        """The provider takes it away soon: it ends what it has, and gets nothing more."""
        if one := self.machines.get(event.machine):
            one.draining = event.reason
            one.takes = False
            yield TakesTasks(one.id, takes=False)

    def _gone(self, event: Gone) -> Iterator[Command]:
        one = self.machines.get(event.machine)
        if one is None or not one.alive:
            return
        never_came = one.joined_at is None and event.cause is Cause.FAILED
        one.move(MachineState.GONE)
        one.idle_since = None
        if one.charged_since is None:
            self.ledger.settle(one.id, Money(0))
        else:
            uptime = max(0.0, event.at - one.charged_since)
            cost = charge(one.offering, uptime)
            one.settled = cost // one.offering.price if one.offering.price else 0
            self.ledger.settle(one.id, cost)
        kind = self.kinds[one.cluster]
        if never_came and kind.rests_until <= self.now:
            kind.fruitless += 1
            if kind.fruitless >= _FRUITLESS:
                words = f"{kind.fruitless} machines in a row never came: {event.detail}"
                yield Decided(self._pause(kind, words))

    def _set_aside(self, event: SetAside) -> Iterator[Command]:
        yield Decided(self._pause(self.kinds[event.cluster], event.reason))

    def _allotted(self, event: Allotted) -> Iterator[Command]:
        self.ledger.allowance, self.cap = event.amount, event
        yield from ()

    # --- decisions --------------------------------------------------------------------------------

    def _clipped(self, want: Sequence[int]) -> list[int]:
        """Within what can be; a kind that rests is made up for by the next ones."""
        rules, left = self.rules, self.rules.most
        wanted = list(want) + [0] * (len(self.kinds) - len(want))
        if not self.demand:
            wanted = [0] * len(self.kinds)
        wanted[0] = max(wanted[0], rules.least)
        offered = len(rules.kinds)
        short = 0
        for k, kind in enumerate(self.kinds):
            most = min(kind.offering.max_machines, left) if k < offered else 0
            if kind.rests_until > self.now:
                most = min(most, self.supply(k))
            asked = wanted[k] + short
            wanted[k] = min(asked, most)
            short = asked - wanted[k]
            left -= wanted[k]
        return wanted

    def _end(self) -> Iterator[StopMachine]:
        for k in range(len(self.kinds)):
            mine = [one for one in self.machines.values() if one.cluster == k and one.counts]
            over = self.supply(k) - self.target[k]
            yet = [one for one in mine if one.boots and one.charged_since is None]
            idle = sorted(
                (one for one in mine if one.idle_since is not None),
                key=lambda one: (one.idle_since, one.id),
            )
            due = [one for one in [*reversed(yet), *idle] if one.due(self.now, self.rules)]
            for one in due[: max(0, over)]:
                yield self._stop(one, TOO_MANY)
            ending = sum(o.state is MachineState.STOPPING for o in self.alive() if o.cluster == k)
            lost = [one for one in mine if one.lost]
            for one in lost[: max(0, -over - self._room(k) - ending)]:
                yield self._stop(one, LOST)
        for one in self.alive():
            self._owe(one)
            silent = one.state is MachineState.SILENT and not one.offering.free
            if silent and one.charged_since is not None and self.now >= one.idle_until(self.now):
                yield self._stop(one, SILENCE)

    def _keep(self) -> Iterator[Command]:
        """Reserve for all that stay. Too many are those whose paid time ends first."""
        over = [self.supply(k) - self.target[k] for k in range(len(self.kinds))]
        staying = [one for one in self.alive() if one.counts and one.charged_since is not None]
        for one in sorted(staying, key=lambda one: (one.billed_until(self.now), one.id)):
            spare = one.lost or over[one.cluster] > 0
            over[one.cluster] -= not one.lost
            yield from self._keep_one(one, spare=spare)

    def _keep_one(self, one: PoolMachine, *, spare: bool) -> Iterator[Command]:
        """One too many begins no task that would enter another ATU, and ends those it has."""
        self._owe(one)
        looked = self.now + self.rules.interval_seconds + one.offering.boundary_seconds
        fits = one.offering.free or not spare
        fits = fits or looked + self.task_seconds <= one.billed_until(self.now)
        works = one.id in self.busy
        takes = fits
        if not one.offering.free and (fits or works):
            takes = self._reserve(one, looked + (self.task_seconds if fits else 0.0)) and fits
        takes = takes and not one.draining
        if takes is not one.takes:
            one.takes = takes
            yield TakesTasks(one.id, takes)
        yield from self._renewed(one)
        if not takes and (works or not spare) and self.now >= one.stop_by(self.now):
            yield self._stop(one, NO_MONEY)

    def _reserve(self, one: PoolMachine, until: float) -> bool:
        """False if it is not paid for until then."""
        needs = max(one.atus, one.atus_until(until))
        if needs > one.atus and not self._hold(one, needs):
            return False
        one.atus = needs
        return True

    def _hold(self, one: PoolMachine, count: int) -> bool:
        """Reserve so many ATUs for it to live in; False if there is no money."""
        held = self.ledger.reserve(one.id, charge_atus(one.offering, count + one.late_atus))
        if not held:
            self.short = self._no_money()
        return held

    def _renewed(self, one: PoolMachine) -> Iterator[RenewLease]:
        if one.leased < one.atus:
            one.leased = one.atus
            yield RenewLease(one.id, one.lease_until(self.now))

    def _hire(self) -> Iterator[Command]:
        rules = self.rules
        rate: int = self.rate
        for k, kind in enumerate(self.kinds):
            hired: list[MachineId] = []
            price = self._per_interval(kind.offering)
            for _ in range(min(self._room(k), self.target[k] - self.supply(k))):
                rate += price
                if rules.per_interval is not None and rate > rules.per_interval:
                    limit = show(rules.per_interval, rules.currency)
                    self.short = f"{limit} an interval pay for no more"
                    break
                number = MachineId(self.last + 1)
                one = PoolMachine(number, k, kind.offering, self.now)
                count = kind.first_atus(rules.interval_seconds + self.task_seconds)
                if not self._hold(one, count):
                    break
                self.last = number
                one.atus = count
                self.machines[number] = one
                hired.append(number)
            if hired:
                yield StartMachines(k, tuple(hired))

    def _room(self, kind: int) -> int:
        """Machines of a kind that may be added; what ends is there until it is gone."""
        alive = self.alive()
        of_kind = sum(one.cluster == kind for one in alive)
        most = self.kinds[kind].offering.max_machines
        return min(self.rules.most - len(alive), most - of_kind)

    def _per_interval(self, offering: Offering) -> Money:
        share = self.rules.interval_seconds / offering.atu_seconds
        return Money(math.ceil(offering.price * share - 1e-6))

    def _stop(self, one: PoolMachine, reason: str) -> StopMachine:
        one.move(MachineState.STOPPING)
        one.idle_since = None
        return StopMachine(one.id, reason)

    def _owe(self, one: PoolMachine) -> None:
        """Hold what time has spent, be it reserved or not: one that is told to stop may be late."""
        if one.charged_since is None:
            return
        entered = one.atus_until(self.now)
        if entered > one.held:
            one.atus = entered - one.late_atus
            self.ledger.owe(one.id, charge_atus(one.offering, entered))

    def _forget(self) -> None:
        """Machines gone long ago are only a sum."""
        past = self.now - _FORGOTTEN_SECONDS
        for one in [o for o in self.machines.values() if not o.alive and o.requested_at < past]:
            if one.charged_since is None or self.now - one.billed_until(past) > 0:
                self.forgotten = Money(self.forgotten + charge_atus(one.offering, one.settled))
                del self.machines[one.id]

    def _wake(self) -> Iterator[WakeAt]:
        """Look again as paid time ends: of what is too many, and of what is not paid for longer."""
        coming = []
        for one in self.alive():
            if not one.counts or one.charged_since is None or one.offering.free:
                continue
            if not one.takes:
                coming.append(one.stop_by(self.now))
            long = one.offering.atu_seconds > self.rules.interval_seconds
            if long and self.supply(one.cluster) > self.target[one.cluster]:
                coming.append(one.idle_until(self.now))
        at = min((at for at in coming if at > self.now), default=math.inf)
        if at < self.woken_at or self.woken_at <= self.now:
            self.woken_at = at
            if not math.isinf(at):
                yield WakeAt(at)

    def _pause(self, kind: Kind, reason: str) -> str:
        kind.pause(self.now, self.rules.interval_seconds, reason)
        return kind.in_words()

    # --- words ------------------------------------------------------------------------------------

    def _no_money(self) -> str:
        if self.cap is None or not self.cap.cap:
            return "its money pays for no more"
        until = f" until {self.cap.until}" if self.cap.until else ""
        return f"the cap of {self.cap.cap} leaves too little{until}"


_RULES: Final[Mapping[type, Callable[[StandingPool, Any], Iterator[Command]]]] = {
    Formed: StandingPool._formed,  # noqa: SLF001
    Summed: StandingPool._summed,  # noqa: SLF001
    Looked: StandingPool._looked,  # noqa: SLF001
    Charged: StandingPool._charged,  # noqa: SLF001
    Joined: StandingPool._joined,  # noqa: SLF001
    Silent: StandingPool._silent,  # noqa: SLF001
    Announced: StandingPool._announced,  # noqa: SLF001
    Gone: StandingPool._gone,  # noqa: SLF001
    SetAside: StandingPool._set_aside,  # noqa: SLF001
    Allotted: StandingPool._allotted,  # noqa: SLF001
}
