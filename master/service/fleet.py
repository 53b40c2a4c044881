"""The fleet: carries out what bags want of machines, each at the back end of its offering."""

import asyncio
from collections.abc import Iterable

import structlog

from bats.common.errors import BatsError
from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.deploy.protocol import Backend, Orphan, Site
from bats.deploy.registry import backend
from bats.master.brain.events import Cause, SetAside
from bats.master.brain.machine import MachineState
from bats.master.brain.state import MANUAL
from bats.master.service.admission import Admission
from bats.master.service.files import Files
from bats.master.service.numbers import by_hand, outside
from bats.master.service.options import Options, Place, place_of
from bats.master.service.runner import Runner
from bats.master.service.workers import Workers
from bats.master.service.yard import Watched, Yard, Yardkeeper
from bats.master.store.store import Store

log = structlog.get_logger()


class Fleet:
    def __init__(self, options: Options, site: Site, admission: Admission, store: Store) -> None:
        self._options = options
        self._store = store
        self._site = site
        self._admission = admission
        self._yards: dict[Place, Yard] = {}
        self._machines: dict[MachineId, tuple[Yard, Watched]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.workers: Workers | None = None
        self.files: Files | None = None
        self.addresses: tuple[str, ...] = ()
        self.server_key = ""

    async def close(self) -> None:
        """Let go of the back ends; machines live on, as long as their lease."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for yard in self._yards.values():
            await yard.close()

    async def abandon(self) -> None:
        """Stop every machine now and without farewell: the user wants this process to end."""
        machines: dict[Yard, list[MachineId]] = {}
        for machine, (yard, _) in self._machines.items():
            machines.setdefault(yard, []).append(machine)
        await asyncio.gather(
            *(yard.backend.stop(found) for yard, found in machines.items()), return_exceptions=True
        )

    # --- what bags want ---------------------------------------------------------------------------

    def start(self, runner: Runner, cluster: int, machines: list[MachineId]) -> None:
        wanted = [one for one in machines if runner.wants(one)]
        for machine in set(machines) - set(wanted):  # called off before it was asked for
            runner.gone(machine, None, Cause.STOPPED, "not needed any more")
        offering = runner.bag.settings.offerings[cluster]
        try:
            yard = self._yard(offering)
        except BatsError as error:
            self.set_aside(runner, cluster, wanted, str(error))
            return
        watched = [Watched(machine, runner, cluster) for machine in wanted]
        for one in watched:
            self._machines[one.machine] = yard, one
        yard.start(watched)

    def stop(self, machine: MachineId, reason: str) -> None:
        yard, watched = self._machines.get(machine, (None, None))
        if yard is not None and watched is not None:
            yard.stop(watched, reason)

    def adopt(self, runner: Runner) -> None:
        """After a restart: the machines of this bag are watched again, or stopped."""
        for known in runner.engine.run.alive():
            machine = outside(runner.id, known.id)
            if by_hand(machine):
                continue
            try:
                yard = self._yard(known.offering)
            except BatsError as error:
                self.set_aside(runner, known.cluster, [machine], str(error))
                continue
            watched = Watched(machine, runner, known.cluster)
            watched.asked = watched.resumed = True
            watched.joined = known.joined_at is not None
            watched.charged_since = known.charged_since
            self._machines[machine] = yard, watched
            yard.adopt(watched)
            if known.state is MachineState.STOPPING:
                yard.stop(watched, "it was to be stopped before the restart")

    def set_aside(
        self, runner: Runner, cluster: int, machines: Iterable[MachineId], reason: str
    ) -> None:
        """Nothing more can be had of this offering."""
        runner.happen(SetAside(cluster, reason))
        for machine in machines:
            if runner.wants(machine):
                runner.gone(machine, None, Cause.FAILED, reason)
            elif machine not in self._machines:
                runner.gone(machine, None, Cause.STOPPED, reason)

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

    def clean_up(self, offerings: Iterable[Offering]) -> None:
        """Find machines of an earlier life of this master that are in no book, and stop them."""
        task = asyncio.create_task(self._clean_up(list(offerings)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _clean_up(self, offerings: list[Offering]) -> None:
        await self.orphans(offerings, stop=True)

    async def orphans(self, offerings: Iterable[Offering], *, stop: bool) -> list[Orphan]:
        """What the back ends of these offerings have that is in no bag's books."""
        found: list[Orphan] = []
        for offering in {place_of(one): one for one in offerings if one.backend != MANUAL}.values():
            try:
                found += await self._orphans_of(offering, stop=stop)
            except BatsError as error:
                log.warning("cannot look for left-over machines", offering=offering.name,
                            reason=str(error))  # fmt: skip
            except Exception:
                log.exception("back end failed", offering=offering.name)
        return found

    async def _orphans_of(self, offering: Offering, *, stop: bool) -> list[Orphan]:
        backend = self._yard(offering).backend
        listed = await backend.list_ours()
        orphans = [orphan for orphan in listed if orphan.machine not in self._machines]
        for orphan in orphans:
            log.warning(
                "a machine that is in no bag's books",
                offering=offering.name,
                machine=orphan.machine,
                address=orphan.address,
                charged_seconds=orphan.charged_seconds,
                stopped=stop,
            )
        numbers = [one.machine for one in orphans if one.machine is not None]
        if stop and numbers:
            await backend.stop(numbers)
        return orphans

    def _yard(self, offering: Offering) -> Yard:
        key = place_of(offering)
        if (yard := self._yards.get(key)) is None:
            assert self.workers is not None
            assert self.files is not None
            keeper = Yardkeeper(
                self._options,
                self._admission,
                self._store,
                self.workers,
                self.files,
                self.addresses,
                self.server_key,
                self.set_aside,
                self._gone,
            )
            yard = self._yards[key] = Yard(offering, self._backend(offering), keeper)
        return yard

    def _backend(self, offering: Offering) -> Backend:
        return self._options.backends.get(place_of(offering)) or backend(offering, self._site)

    def _gone(self, machine: MachineId) -> None:
        self._machines.pop(machine, None)
        self._admission.revoke(machine)
        if self.files is not None:
            self.files.gone(machine)
