"""A provider of machines: its answers get lost, come late or tell of a while ago; it takes back.

It knows what each machine really did and cost, which nobody tells the master.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bats.common.messages import MachineId
from bats.common.ticket import LEASE_ENDED, Ticket
from bats.deploy.protocol import BusyError, Gone, Orphan, Sighting, State
from fate.timeline import Process, VirtualLoop

_TAKEN_BACK_SECONDS: Final = 5.0  # in which one that is wanted elsewhere is
GUARDIAN_SECONDS: Final = 0.5  # what a daemon gets to end itself after its lease


@dataclass(slots=True)
class Mood:
    """The state of the provider."""

    loses_answers: float = 0.0  # share of calls that are obeyed and not answered
    busy: float = 0.0  # share of starts that are refused for now
    takes_back: float = 0.0  # share of machines that it takes back when they have just come up
    stale_seconds: float = 0.0  # its lists are so old
    boot_seconds: float = 2.0
    travels_seconds: float = 0.5  # the time at most that an answer takes


@dataclass(slots=True, eq=False)
class Machine:
    """A machine as it really is."""

    number: MachineId
    ticket: Ticket
    asked_at: float
    process: Process
    boot_at: float
    lease_ends: float = 0.0
    may_live_until: float = 0.0  # by all leases that its master ever gave it
    booted: bool = False
    gone_at: float | None = None
    why: Gone = Gone.STOPPED
    session: Any = None
    liar: bool = False

    def up_seconds(self, at: float) -> float:
        return max(0.0, min(at, at if self.gone_at is None else self.gone_at) - self.asked_at)


Boot = Callable[[Machine], Awaitable[int]]
"""It lives until its exit code."""


class Provider:
    """One offering's back end, and its machines."""

    def __init__(self, loop: VirtualLoop, rng: random.Random, boot: "Boot") -> None:
        self._loop = loop
        self._rng = rng
        self._boot = boot
        self.mood = Mood()
        self.machines: dict[MachineId, Machine] = {}
        self.remembers: Path | None = None  # their folders, if these stay

    # --- as a back end ----------------------------------------------------------------------------

    def lacks(self) -> Mapping[Any, str]:
        return {}

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        await asyncio.sleep(self._rng.uniform(0.05, 1.0))
        if self._rng.random() < self.mood.busy:
            raise BusyError("no capacity")
        for ticket in tickets:
            if ticket.machine not in self.machines:  # asked for again, it is the same machine
                self._start(ticket)
        await self._answer()
        seen = {ticket.machine: self._sighting(ticket.machine, 0.0) for ticket in tickets}
        return await self._on_its_way(seen)

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        await asyncio.sleep(self._rng.uniform(0.02, 0.3))
        if self._rng.random() < self.mood.loses_answers / 2:
            raise BusyError("no answer")
        seen = {one: self._sighting(one, self.mood.stale_seconds) for one in machines}
        return await self._on_its_way(seen)

    async def stop(self, machines: Sequence[MachineId]) -> None:
        await asyncio.sleep(self._rng.uniform(0.05, 0.5))
        for number in machines:
            if machine := self.machines.get(number):
                self.end(machine, Gone.STOPPED)
        await self._answer()

    async def list_ours(self) -> Sequence[Orphan]:
        await asyncio.sleep(0.1)
        then = self._loop.now - self.mood.stale_seconds
        return [
            Orphan(one.number, "rented", f"i-{one.number}", one.up_seconds(self._loop.now))
            for one in self.machines.values()
            if one.asked_at <= then and one.gone_at is None
        ]

    async def log(self, machine: MachineId) -> str:
        return f"the log of {machine}"

    async def left(self, machine: MachineId, name: str, offset: int, size: int) -> bytes:
        await self._answer()
        place = self.remembers and self.remembers / str(machine) / name
        return place.read_bytes()[offset : offset + size] if place and place.exists() else b""

    async def close(self) -> None: ...

    # --- as it is ---------------------------------------------------------------------------------

    def _start(self, ticket: Ticket) -> None:
        process = Process(f"machine {ticket.machine}")
        boot_at = self._loop.now + self._rng.uniform(0.1, self.mood.boot_seconds)
        machine = Machine(ticket.machine, ticket, self._loop.now, process, boot_at)
        machine.lease_ends = machine.may_live_until = boot_at + ticket.lease_seconds
        self.machines[ticket.machine] = machine
        self._loop.outside(boot_at - self._loop.now, self._come_up, machine)
        self._loop.outside(machine.lease_ends - self._loop.now, self._guard, machine)

    def _come_up(self, machine: Machine) -> None:
        if machine.gone_at is None:
            machine.booted = True
            self._loop.create_task(self._live(machine), context=machine.process.context)
            if self.mood.takes_back and self._rng.random() < self.mood.takes_back:
                seconds = self._rng.uniform(0.1, _TAKEN_BACK_SECONDS)
                self._loop.outside(seconds, self.end, machine, Gone.PREEMPTED)

    async def _live(self, machine: Machine) -> None:
        code = await self._boot(machine)
        machine.session = None  # it has let go of its files itself
        self.end(machine, Gone.EXPIRED if code == LEASE_ENDED else Gone.STOPPED)

    def leased(self, number: MachineId, seconds: float) -> None:
        """Its master lets it live so long, and it is there to hear that."""
        machine = self.machines.get(number)
        if machine is not None and machine.gone_at is None:
            machine.may_live_until = max(machine.may_live_until, self._loop.now + seconds)

    def lease(self, machine: Machine, ends: float) -> None:
        """The guardian has been told until when it may live."""
        machine.lease_ends = ends
        self._loop.outside(ends + GUARDIAN_SECONDS - self._loop.now, self._guard, machine)

    def _guard(self, machine: Machine) -> None:
        if machine.gone_at is None and self._loop.now >= machine.lease_ends:
            self.end(machine, Gone.EXPIRED)

    def end(self, machine: Machine, why: Gone) -> None:
        """It is no more, and not charged any longer."""
        if machine.gone_at is None:
            machine.gone_at, machine.why = self._loop.now, why
            machine.process.alive = False
            if machine.session is not None:
                machine.session.vanished()

    def alive(self) -> list[Machine]:
        return [one for one in self.machines.values() if one.gone_at is None]

    def _sighting(self, number: MachineId, stale_seconds: float) -> Sighting:
        then = self._loop.now - stale_seconds
        machine = self.machines.get(number)
        if machine is None or machine.asked_at > then:
            return Sighting(State.GONE, gone=Gone.LOST)
        charged = machine.up_seconds(self._loop.now)
        if machine.gone_at is not None and machine.gone_at <= then:
            return Sighting(State.GONE, f"i-{number}", charged, machine.why)
        return Sighting(State.UP, f"i-{number}", charged)

    async def _on_its_way(self, seen: dict[MachineId, Sighting]) -> dict[MachineId, Sighting]:
        """What it says was so when it said it; meanwhile workers speak."""
        await asyncio.sleep(self._rng.uniform(0.0, self.mood.travels_seconds))
        return seen

    async def _answer(self) -> None:
        if self._rng.random() < self.mood.loses_answers:
            await asyncio.sleep(self._rng.uniform(1.0, 10.0))
            raise TimeoutError("no answer")
