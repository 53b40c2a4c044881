"""The fleet: carries out what bags and pools want of machines, each at its back end."""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from bats.common.errors import BatsError
from bats.common.messages import BagId, MachineId
from bats.common.offering import MANUAL, Offering
from bats.deploy.protocol import Backend, Site, State
from bats.deploy.registry import backend
from bats.master.brain.books.machine import MachineState
from bats.master.brain.protocol.events import Cause
from bats.master.service.machines.orphans import (
    Handling,
    OrphanMachine,
    orphan_machine,
    unpaid_since,
)
from bats.master.service.machines.provider import Provider, ProviderContext
from bats.master.service.machines.watched import Watched
from bats.master.service.machines.workers import Workers
from bats.master.service.options import Options, Place, place_of
from bats.master.service.owner import Owner
from bats.master.service.transfers import Files
from bats.master.service.wire.admission import Admission
from bats.master.store.store import Store

_ANSWER_SECONDS: Final = 60.0  # for a back end to say which machines it has
_LOOK_SECONDS: Final = 5.0  # likewise, when a user only looks

log = structlog.get_logger()


class Fleet:
    def __init__(
        self,
        options: Options,
        site: Site,
        admission: Admission,
        store: Store,
        workers: Workers,
        files: Files,
        addresses: tuple[str, ...],
        server_key: str,
    ) -> None:
        self._options = options
        self._site = site
        self._admission = admission
        self._workers = workers
        self._files = files
        self._context = ProviderContext(
            options,
            admission,
            store,
            workers,
            files,
            addresses,
            server_key,
            self.set_aside,
            self._gone,
        )
        self._providers: dict[Place, Provider] = {}
        self._machines: dict[MachineId, tuple[Provider, Watched]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Let go of the back ends; machines live on, as long as their lease."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for provider in self._providers.values():
            await provider.close()

    async def abandon(self) -> None:
        """Stop every machine now and without farewell: the user wants this process to end."""
        machines: dict[Provider, list[MachineId]] = {}
        for machine, (provider, _) in self._machines.items():
            machines.setdefault(provider, []).append(machine)
        await asyncio.gather(
            *(provider.backend.stop(found) for provider, found in machines.items()),
            return_exceptions=True,
        )

    # --- what bags want ---------------------------------------------------------------------------

    def start(self, owner: Owner, cluster: int, machines: Sequence[MachineId]) -> None:
        wanted = [one for one in machines if owner.machines.wants(one)]
        for machine in set(machines) - set(wanted):  # called off before it was asked for
            owner.machines.gone(machine, None, Cause.STOPPED, "not needed any more")
        offering = owner.offerings[cluster]
        try:
            provider = self._provider(offering)
        except BatsError as error:
            self.set_aside(owner, cluster, wanted, str(error))
            return
        watched = [Watched(machine, owner, cluster) for machine in wanted]
        for one in watched:
            self._machines[one.machine] = provider, one
        provider.start(watched)

    def stop(self, machine: MachineId, reason: str) -> None:
        provider, watched = self._machines.get(machine, (None, None))
        if provider is not None and watched is not None:
            provider.stop(watched, reason)

    def adopt(self, owner: Owner) -> None:
        """Watch its machines again after a restart, or stop them."""
        for known in owner.living():
            machine = known.id
            try:
                provider = self._provider(known.offering)
            except BatsError as error:
                self.set_aside(owner, known.cluster, [machine], str(error))
                continue
            watched = Watched(machine, owner, known.cluster)
            watched.asked = watched.resumed = True
            watched.joined = known.joined_at is not None
            watched.charged_since = known.charged_since
            self._machines[machine] = provider, watched
            provider.adopt(watched)
            if known.state is MachineState.STOPPING:
                provider.stop(watched, "it was to be stopped before the restart")

    def set_aside(
        self, owner: Owner, cluster: int, machines: Iterable[MachineId], reason: str
    ) -> None:
        """Set an offering aside of which nothing more can be had."""
        owner.set_aside(cluster, reason)
        for machine in machines:
            if owner.machines.wants(machine):
                owner.machines.gone(machine, None, Cause.FAILED, reason)
            elif machine not in self._machines:
                owner.machines.gone(machine, None, Cause.STOPPED, reason)

    def waiting(self, machine: MachineId) -> tuple[str, str, str]:
        """A machine yet to come: its state, where it is, why it waits; "" where unknown."""
        _, one = self._machines.get(machine, (None, None))
        if one is None or one.joined:
            return "", "", ""
        if one.seen is None or not one.asked:
            return "", "", one.waits
        state = one.seen.state.value if one.seen.state is State.QUEUED else ""
        return state, one.seen.address, one.seen.detail

    # --- what workers tell ------------------------------------------------------------------------

    def joined(self, machine: MachineId) -> None:
        if found := self._machines.get(machine):
            found[1].joined = True
            found[0].look()

    def left(self, machine: MachineId) -> None:
        """Its worker said goodbye: it will be gone soon."""
        if found := self._machines.get(machine):
            found[1].left.set()
            found[0].look()

    def look(self, machine: MachineId) -> None:
        if found := self._machines.get(machine):
            found[0].look()

    # --- what is left over ------------------------------------------------------------------------

    def clean_up(
        self,
        offerings: Iterable[Offering],
        owners: Mapping[BagId, Owner],
        own: Container[MachineId],
    ) -> None:
        """Stop machines that no bag can take back, if they stand in our own books.

        Others are told of alone: a store may be a copy of another master's, who lives.
        """
        task = asyncio.create_task(self._clean_up(list(offerings), owners, own))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _clean_up(
        self,
        offerings: list[Offering],
        owners: Mapping[BagId, Owner],
        own: Container[MachineId],
    ) -> None:
        await self.orphans(offerings, owners, Handling.STOP_LOST, own)

    async def orphans(
        self,
        offerings: Iterable[Offering],
        owners: Mapping[BagId, Owner],
        do: Handling,
        own: Container[MachineId] | None = None,
    ) -> tuple[list[OrphanMachine], dict[str, str]]:
        """Machines that back ends have beyond all books; and those that did not say, with why.

        None but `own` ones are stopped, if that is given.
        """
        places = {place_of(one): one for one in offerings if one.backend != MANUAL}
        asked = (self._orphans_of(one, owners, do, own) for one in places.values())
        found: list[OrphanMachine] = []
        mute: dict[str, str] = {}
        answers = await asyncio.gather(*asked, return_exceptions=True)
        for offering, answer in zip(places.values(), answers, strict=True):
            if isinstance(answer, list):
                found += answer
                continue
            mute[str(offering.name)] = str(answer) or "it did not answer in time"
            unexpected = None if isinstance(answer, BatsError | TimeoutError) else answer
            log.warning("cannot look for left-over machines", offering=offering.name,
                        reason=str(answer), exc_info=unexpected)  # fmt: skip
        return found, mute

    async def _orphans_of(
        self,
        offering: Offering,
        owners: Mapping[BagId, Owner],
        do: Handling,
        own: Container[MachineId] | None,
    ) -> list[OrphanMachine]:
        provider = self._provider(offering)
        look = do is Handling.LOOK
        async with asyncio.timeout(_LOOK_SECONDS if look else _ANSWER_SECONDS):
            listed = await provider.backend.list_ours()
        orphans = [
            orphan_machine(offering, orphan, owners)
            for orphan in listed
            if orphan.machine not in self._machines
        ]
        to_stop = [one for one in orphans if do.stops(one) and (own is None or one.number in own)]
        if numbers := [one.number for one in to_stop if one.number is not None]:
            await provider.backend.stop(numbers)
        told = []
        for one in orphans:
            done = "stopped" if one in to_stop else ""
            if do is Handling.TAKE_BACK and self._take_back(provider, one, owners):
                done = "taken back"
            told.append(replace(one, done=done))
            log.warning("a machine that is in no bag's books", offering=offering.name,
                        machine=one.number, address=one.address, done=done or "nothing",
                        charged_seconds=one.charged_seconds)  # fmt: skip
        return told

    def _take_back(
        self, provider: Provider, orphan: OrphanMachine, owners: Mapping[BagId, Owner]
    ) -> bool:
        """Its worker is admitted again; until it speaks the machine counts as silent."""
        if orphan.number is None or orphan.bag is None or orphan.lost:
            return False
        machine, owner = orphan.number, owners[orphan.bag]
        row = owner.machines.rows[machine]
        known = owner.known(machine)
        if known is None:
            return False
        since = None
        if orphan.charged_seconds is not None:
            now = owner.clock()
            since = unpaid_since(known.offering, row, orphan.charged_seconds, now)
        watched = Watched(machine, owner, known.cluster)
        watched.asked = watched.joined = True
        watched.charged_since = row.charged_since if row.charged_since is not None else since
        self._machines[machine] = provider, watched
        for key in row.keys:
            self._admission.admit(machine, key, ticket=row.joined is None)
        provider.adopt(watched)
        taken = owner.machines.found(machine, since)
        self._workers.expect(machine)
        return taken

    def _provider(self, offering: Offering) -> Provider:
        key = place_of(offering)
        if (provider := self._providers.get(key)) is None:
            backend = self._backend(offering)
            provider = self._providers[key] = Provider(offering, backend, self._context)
        return provider

    def _backend(self, offering: Offering) -> Backend:
        return self._options.backends.get(place_of(offering)) or backend(offering, self._site)

    def _gone(self, machine: MachineId) -> None:
        self._machines.pop(machine, None)
        self._admission.revoke(machine)
        self._files.gone(machine)
