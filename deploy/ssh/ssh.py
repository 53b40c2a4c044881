"""Machines that are hosts reached by ssh: given ones, named by a list, a pattern or a file."""

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2s
from pathlib import Path
from typing import Final, Literal, TypeVar
from urllib.parse import quote

from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.ticket import Ticket
from bats.deploy import backend_table
from bats.deploy.protocol import (
    BackendError,
    BusyError,
    Feature,
    Gone,
    Orphan,
    Sighting,
    Site,
    State,
)
from bats.deploy.ssh import host_list
from bats.deploy.ssh.far_host import Host
from bats.deploy.ssh.places import Places
from bats.deploy.ssh.routes import Ways
from bats.deploy.ssh.ssh_program import Client

T = TypeVar("T")

HOSTS_AT_ONCE: Final = 32
SILENT_SECONDS: Final = 120.0  # a host that does not answer for so long is given up


@dataclass(frozen=True, slots=True)
class Settings:
    hosts: tuple[str, ...] = ()  # names or patterns: node[01-32].cluster
    hosts_file: str = ""  # the same, one or several per line
    per_host: int = 1  # machines on each host at once
    tunnel: bool | Literal["auto"] = "auto"  # lead the way back to the master through ssh
    python: str = ""  # of the hosts; "": the first of python3, python3.14 ... that is 3.11 or later
    folder: str = "~/.cache/bats"  # of the hosts: where everything of ours goes
    config: str = ""  # instead of ~/.ssh/config
    options: tuple[str, ...] = ()  # further words for the command line of ssh

    def __post_init__(self) -> None:
        if self.per_host < 1:
            raise ValueError(f"`per_host = {self.per_host}` should be 1 or more.")
        if not self.names():
            raise ValueError("no host is named; give `hosts` or `hosts_file`.")

    def names(self) -> list[str]:
        listed = host_list.read(Path(self.hosts_file)) if self.hosts_file else []
        return list(dict.fromkeys([*host_list.expand(self.hosts), *listed]))


class Ssh:
    """Workers are processes of the hosts; what became of them is written down there."""

    def __init__(self, offering: Offering, site: Site) -> None:
        self._offering = offering
        self._settings = given = backend_table.read(Settings, offering)
        config = ("-F", str(Path(given.config).expanduser())) if given.config else ()
        home = Path(site.state_folder).absolute() / "ssh"
        apart = blake2s(offering.name.encode(), digest_size=3).hexdigest()
        self._client = Client((*config, *given.options), home / apart)
        self._rosters = f"machines/{site.master_id}/{quote(offering.name, safe='')}"
        self._listed = given.names()
        self._hosts: dict[str, Host] = {}  # the listed, and those of machines started before
        self._places = Places(home / f"{quote(offering.name, safe='')}.json")
        self._ways = Ways(given.tunnel, self._client, self._places)
        self._placing = asyncio.Lock()
        self._at_once = asyncio.Semaphore(HOSTS_AT_ONCE)
        self._starting: set[MachineId] = set()  # on their way to their hosts
        self._failed: dict[str, float] = {}  # when a host last did; not after a success
        self._silent: dict[str, float] = {}  # since when a host does not answer
        self._last: dict[MachineId, Sighting] = {}

    def lacks(self) -> Mapping[Feature, str]:
        return {
            Feature.PREEMPTION: "a given host is taken away by nobody that would tell us",
            Feature.POWER_OFF: "a given host stays on; only its worker ends",
            Feature.QUEUE: "a given host takes a worker at once or not at all",
        }

    async def check(self) -> str:
        """Every host is tried, and has the worker afterwards."""
        tried = await self._everywhere(self._listed, lambda host: host.prepare())
        failed = [error for error in tried.values() if isinstance(error, BackendError)]
        if len(failed) == len(tried):
            raise failed[0]
        room = (len(tried) - len(failed)) * self._settings.per_host
        without = f", {len(failed)} of which cannot be used: {failed[0]}" if failed else ""
        return f"room for {room} machines on {len(tried)} hosts{without}"

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        known = [ticket.machine for ticket in tickets if self._places.host(ticket.machine)]
        started = dict(await self.status(known))
        new = {ticket.machine: ticket for ticket in tickets if ticket.machine not in started}
        self._starting |= set(new)
        try:
            seen, errors = await self._start_new(list(new.values()))
        finally:
            self._starting -= set(new)
        started |= seen
        missing = set(new) - set(started)
        if not missing:
            return started
        errors = errors or [BusyError(self._full())]
        error = next((e for e in errors if isinstance(e, BusyError)), errors[0])
        if not started:
            raise error
        failed = Sighting(State.GONE, gone=Gone.FAILED, detail=str(error))
        return {**started, **dict.fromkeys(missing, failed)}

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        await self._ways.reopen()
        placed = self._by_host(set(machines) - self._starting)
        answers = await self._everywhere(placed, lambda host: host.look(placed[host.name]))
        for name, answer in answers.items():
            if isinstance(answer, BackendError):
                self._last |= {m: self._unseen(name, m, answer) for m in placed[name]}
            else:
                self._silent.pop(name, None)
                self._last |= {m: _at(name, seen) for m, seen in answer.items()}
        found = {machine: self._found(machine) for machine in machines}
        self._places.free(m for m, seen in found.items() if seen.state is State.GONE)
        return found

    async def stop(self, machines: Sequence[MachineId]) -> None:
        placed = self._by_host(machines)
        answers = await self._everywhere(placed, lambda host: host.stop(placed[host.name]))
        failed = [answer for answer in answers.values() if isinstance(answer, BackendError)]
        for name, answer in answers.items():
            if not isinstance(answer, BackendError):
                self._places.free(placed[name])
        if failed:
            raise failed[0]

    async def list_ours(self) -> Sequence[Orphan]:
        await self._ways.reopen()
        hosts = dict.fromkeys([*self._listed, *self._places.hosts()])
        answers = await self._everywhere(hosts, lambda host: host.living())
        orphans = []
        for name, answer in answers.items():
            if isinstance(answer, BackendError):
                continue  # what lives there ends with its lease
            for machine, seen in answer.items():
                if machine not in self._places.on(name):  # held lost; or the state folder was
                    self._places.take(machine, name)
                where = self._last[machine] = _at(name, seen)
                orphans.append(
                    Orphan(machine, self._offering.name, where.address, where.charged_seconds)
                )
        return orphans

    async def log(self, machine: MachineId) -> str:
        name = self._places.host(machine)
        return await self._host(name).log(machine) if name else ""

    async def left(self, machine: MachineId, name: str, offset: int, size: int) -> bytes:
        host = self._places.host(machine)
        return await self._host(host).left(machine, name, offset, size) if host else b""

    async def close(self) -> None:
        await self._ways.close()
        await self._client.close()

    # --- starting ---

    async def _start_new(
        self, left: Sequence[Ticket]
    ) -> tuple[dict[MachineId, Sighting], list[BackendError]]:
        """Sightings of those that were asked for, and the reasons why hosts could not be asked."""
        started: dict[MachineId, Sighting] = {}
        errors: dict[str, BackendError] = {}
        while left and (placed := await self._place(left, avoid=errors)):
            answers = await self._everywhere(placed, partial(self._start_at, placed))
            for name, answer in answers.items():
                if isinstance(answer, BackendError):  # nothing was asked of this host yet
                    self._places.drop(ticket.machine for ticket in placed[name])
                    errors[name] = answer
                else:
                    started |= answer
            left = [ticket for ticket in left if ticket.machine not in started]
        return started, list(errors.values())

    async def _place(
        self, tickets: Sequence[Ticket], avoid: Collection[str]
    ) -> Mapping[str, list[Ticket]]:
        """Give tickets their hosts, those first that have not failed lately."""
        async with self._placing:
            names = [name for name in self._listed if name not in avoid]
            names.sort(key=lambda name: self._failed.get(name, 0.0))
            if sum(map(self._room, names)) < len(tickets):  # some may have ended unseen
                await self.status([m for name in names for m in self._places.on(name)])
            rooms = [[name] * self._room(name) for name in names]
            spread = (n for turn in itertools.zip_longest(*rooms) for n in turn if n is not None)
            placed: dict[str, list[Ticket]] = defaultdict(list)
            for ticket, name in zip(tickets, spread, strict=False):
                self._places.take(ticket.machine, name)
                placed[name].append(ticket)
            return placed

    def _room(self, name: str) -> int:
        return max(0, self._settings.per_host - len(self._places.on(name)))

    def _full(self) -> str:
        places = len(self._listed) * self._settings.per_host
        return f"All {places} places on {len(self._listed)} hosts are taken."

    async def _start_at(
        self, placed: Mapping[str, list[Ticket]], host: Host
    ) -> Mapping[MachineId, Sighting]:
        """Raises only before the host was asked: after that a machine may run there."""
        await host.prepare()
        master = await self._ways.to_master(host, placed[host.name][0].master)
        tickets = [
            replace(ticket, master=master, state_folder=host.state_folder(ticket.machine))
            for ticket in placed[host.name]
        ]
        machines = [ticket.machine for ticket in tickets]
        try:
            errors = await host.start(tickets)
            seen = await host.look(machines)
        except BackendError as error:
            return dict.fromkeys(machines, Sighting(State.REQUESTED, host.name, detail=str(error)))
        failed = Sighting(State.GONE, host.name, gone=Gone.FAILED)
        return {
            machine: replace(failed, detail=errors[machine])
            if errors.get(machine)
            else _at(host.name, seen[machine])
            for machine in machines
        }

    # --- what is seen ---

    def _found(self, machine: MachineId) -> Sighting:
        if machine in self._starting:
            return Sighting(State.REQUESTED)
        if not self._places.host(machine):
            return Sighting(State.GONE, gone=Gone.LOST, detail="no such machine was started")
        return self._last.get(machine, Sighting(State.REQUESTED))

    def _unseen(self, name: str, machine: MachineId, error: BackendError) -> Sighting:
        """The sighting of a machine whose host does not answer."""
        since = self._silent.setdefault(name, time.monotonic())
        silent_seconds = time.monotonic() - since
        last = self._last.get(machine, Sighting(State.REQUESTED, name))
        if last.state is State.GONE:
            return last
        if silent_seconds > SILENT_SECONDS:
            detail = f"{name} has not answered for {silent_seconds:.0f} s: {error}"
            return replace(last, state=State.GONE, gone=Gone.LOST, detail=detail)
        return replace(last, detail=str(error))

    # --- many hosts ---

    def _by_host(self, machines: Iterable[MachineId]) -> Mapping[str, list[MachineId]]:
        placed: dict[str, list[MachineId]] = defaultdict(list)
        for machine in machines:
            if name := self._places.host(machine):
                placed[name].append(machine)
        return placed

    def _host(self, name: str) -> Host:
        if name not in self._hosts:
            given, roster = self._settings, f"{self._rosters}/{quote(name, safe='@')}"
            self._hosts[name] = Host(name, self._client, given.folder, given.python, roster)
        return self._hosts[name]

    async def _everywhere(
        self, names: Iterable[str], do: Callable[[Host], Awaitable[T]]
    ) -> dict[str, T | BackendError]:
        """All at the same time; each host answers, or says why it does not."""

        async def attempt(name: str) -> T | BackendError:
            async with self._at_once:
                try:
                    answer = await do(self._host(name))
                except BackendError as error:
                    self._failed[name] = time.monotonic()
                    return error
                self._failed.pop(name, None)
                return answer

        wanted = list(names)
        answers = await asyncio.gather(*(attempt(name) for name in wanted))
        return dict(zip(wanted, answers, strict=True))


def _at(name: str, seen: Sighting) -> Sighting:
    return replace(seen, address=f"{name}, {seen.address}" if seen.address else name)
