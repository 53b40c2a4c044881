"""The machines of one offering at its back end: asks for them, watches them, sends them away.

The back end is asked about all of them in one call, soon after something was done and then ever
more seldom. What may pass is tried again with growing pauses; what cannot ends with its reason.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import structlog

from bats.common.errors import StoreDamagedError
from bats.common.messages import MachineId
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.ticket import Ticket
from bats.common.wire.keys import new_pair
from bats.deploy.protocol import (
    Backend,
    BusyError,
    Gone,
    RefusedError,
    Remembering,
    Sighting,
    State,
)
from bats.master.brain.books.machine import LEASE_SECONDS, MARGIN_SECONDS
from bats.master.brain.protocol.events import Cause
from bats.master.service.left_results import LeftResults
from bats.master.service.machines.watched import Watched
from bats.master.service.machines.workers import Workers
from bats.master.service.options import Options
from bats.master.service.owner import Owner, ticket_size
from bats.master.service.transfers import Files
from bats.master.service.wire.admission import Admission
from bats.master.store.store import Store

_FIRST_LOOK_SECONDS: Final = 0.05
_GROWTH: Final = 1.6  # from one look to the next while nothing changes
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 60.0
_FAREWELL_SECONDS: Final = 5.0  # for a worker that is told to stop, before its machine is
_FETCH_SECONDS: Final = 60.0  # for outputs still on a machine that costs nothing
_SURE_SECONDS: Final = 15.0  # for which a machine is unknown before it is held to be lost
_MOST_SURPRISES: Final = 5  # errors in a row that the back end itself did not expect
_EXACT_SECONDS: Final = 1.0  # providers count in whole ones, and answers take a while
_LOG_LINES: Final = 12

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """The things that all providers share."""

    options: Options
    admission: Admission
    store: Store
    workers: Workers
    files: Files
    addresses: tuple[str, ...]
    server_key: str
    set_aside: Callable[[Owner, int, Iterable[MachineId], str], None]
    gone: Callable[[MachineId], None]


class Provider:
    def __init__(self, offering: Offering, backend: Backend, context: ProviderContext) -> None:
        self.offering = offering
        self.backend = backend
        self._context = context
        self._machines: dict[MachineId, Watched] = {}
        self._news = asyncio.Event()
        self._called_off = asyncio.Event()  # something that is being asked for
        self._tasks: set[asyncio.Task[None]] = set()
        self._to_stop: list[Watched] = []
        self._do(self._watch())

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.backend.close()

    def start(self, machines: list[Watched]) -> None:
        for one in machines:
            self._machines[one.machine] = one
            one.starting = True
        if machines:
            self._do(self._start(machines))

    def adopt(self, machine: Watched) -> None:
        self._machines[machine.machine] = machine
        self.look()

    def stop(self, machine: Watched, reason: str) -> None:
        """Send a machine away. Twice is no error."""
        if machine.stopping:
            return
        machine.stopping = reason
        if machine.starting:
            self._called_off.set()  # whoever is asking for it will see
            return
        if not machine.asked:
            self._gone(machine, None, Cause.STOPPED, reason)
            return
        self._stop_soon(machine)

    def _stop_soon(self, machine: Watched) -> None:
        self._to_stop.append(machine)
        if len(self._to_stop) == 1:
            asyncio.get_running_loop().call_soon(self._stop_together)

    def look(self) -> None:
        """Something may have changed: ask the back end soon."""
        self._news.set()

    # --- asking for machines ----------------------------------------------------------------------

    async def _start(self, machines: list[Watched]) -> None:
        """Ask until there is an answer, each time with the same tickets.

        One that never came may have been that the machines are started.
        """
        pause, surprises = _FIRST_PAUSE_SECONDS, 0
        tickets: dict[MachineId, Ticket] = {}
        clock = asyncio.get_running_loop().time
        give_up_at = clock() + self._context.options.busy_seconds
        while wanted := self._still_wanted(machines):
            try:
                for one in wanted:
                    if one.machine not in tickets:
                        tickets[one.machine] = self._ticket(one)
                await self._context.store.committed()  # their keys must survive us
                seen = await self.backend.start([tickets[one.machine] for one in wanted])
            except BusyError as error:
                log.warning("no machines yet", offering=self.offering.name, reason=str(error),
                            again_in_seconds=pause)  # fmt: skip
                for one in wanted:
                    one.waits = str(error)
                others = [one for one in wanted if one.owner.machines.has_others_than(one.cluster)]
                if others and clock() >= give_up_at:
                    limit = self._context.options.busy_seconds
                    self._refused(wanted, f"it had nothing to give for {limit:g} s: {error}")
                    return
            except RefusedError as error:
                self._refused(wanted, str(error))
                return
            except Exception as error:
                surprises += 1
                for one in wanted:
                    one.asked = True
                log.exception("back end failed", offering=self.offering.name)
                if surprises >= _MOST_SURPRISES:
                    self._refused(wanted, f"the back end failed: {error}")
                    return
            else:
                for one in wanted:
                    one.starting, one.asked, one.waits = False, True, ""
                    if one.stopping:
                        reason, one.stopping = one.stopping, ""
                        self.stop(one, reason)
                self._saw(seen)
                self.look()
                return
            await self._pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """Wait before asking again; shorter if something is not wanted any more."""
        self._called_off.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._called_off.wait()

    def _still_wanted(self, machines: list[Watched]) -> list[Watched]:
        for one in machines:
            if one.stopping and one.starting and one.machine in self._machines:
                one.starting = False
                if one.asked:  # it may have been started, though nobody said so
                    self._stop_soon(one)
                else:
                    self._gone(one, None, Cause.STOPPED, one.stopping)
        return [one for one in machines if not one.stopping]

    def _refused(self, machines: list[Watched], reason: str) -> None:
        log.error("offering refused", offering=self.offering.name, reason=reason)
        never_asked = [one for one in machines if not one.asked]
        for one in never_asked:
            self._forget(one)
        self._context.set_aside(
            machines[0].owner, machines[0].cluster, [one.machine for one in never_asked], reason
        )
        for one in machines:
            one.starting = False
            if one.asked:  # it may have been started, though nobody said so
                one.stopping = one.failure = reason
                self._stop_soon(one)

    def _ticket(self, one: Watched) -> Ticket:
        """A ticket with a key pair of its own, which is nowhere kept but at the machine."""
        pair = new_pair()
        self._context.admission.admit(one.machine, pair.public, ticket=True)
        one.owner.machines.knows_key(one.machine, pair.public)
        lease_seconds, margin_seconds = self._first_lease(one)
        one.first_lease = lease_seconds
        size = ticket_size(one.offering, one.owner.task_slots)
        return Ticket(
            machine=one.machine,
            master=self._context.addresses,
            server_key=self._context.server_key,
            public_key=pair.public,
            secret_key=pair.secret,
            slots=size.cpus,
            memory_bytes=size.memory_bytes,
            gpus=size.gpus,
            lease_seconds=lease_seconds,
            margin_seconds=margin_seconds,
        )

    def _first_lease(self, one: Watched) -> tuple[float, float]:
        """Its seconds, and how long before its end the worker may begin to stop."""
        known = one.owner.known(one.machine)
        if known is None or one.offering.free:
            return LEASE_SECONDS, MARGIN_SECONDS
        return known.lease_seconds, known.margin_seconds

    # --- sending machines away --------------------------------------------------------------------

    def _stop_together(self) -> None:
        machines, self._to_stop = self._to_stop, []
        self._do(self._stop(machines))

    async def _stop(self, machines: list[Watched]) -> None:
        """First what tasks left there is fetched, then the worker told, so that it can report."""
        files = self._context.files
        await asyncio.gather(*(files.fetched(one.machine, _patience(one)) for one in machines))
        told = [one for one in machines if self._context.workers.stop(one.machine, one.stopping)]
        if told:
            seconds = min(_FAREWELL_SECONDS, *(one.offering.atu_seconds / 10 for one in told))
            waiting = [asyncio.ensure_future(one.left.wait()) for one in told]
            _, late = await asyncio.wait(waiting, timeout=seconds)
            for wait in late:
                wait.cancel()
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                await self.backend.stop([one.machine for one in machines])
                break
            except Exception as error:  # as long as it is not stopped it costs money
                log.warning("cannot stop machines yet", offering=self.offering.name,
                            reason=str(error), again_in_seconds=pause)  # fmt: skip
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        self.look()

    # --- watching ---------------------------------------------------------------------------------

    async def _watch(self) -> None:
        pause = _FIRST_LOOK_SECONDS
        while True:
            try:
                async with asyncio.timeout(pause if self._machines else None):
                    await self._news.wait()
                pause = _FIRST_LOOK_SECONDS
            except TimeoutError:
                pause = min(pause * _GROWTH, self._context.options.poll_seconds)
            self._news.clear()
            asked = [machine for machine, one in self._machines.items() if one.asked]
            if not asked:
                continue
            try:
                seen = await self.backend.status(asked)
            except Exception as error:
                log.warning(
                    "cannot ask about machines", offering=self.offering.name, reason=str(error)
                )
                pause = max(pause, _FIRST_PAUSE_SECONDS)
                continue
            if self._saw(seen):
                pause = _FIRST_LOOK_SECONDS

    def _saw(self, sightings: Mapping[MachineId, Sighting]) -> bool:
        """Make events of what the back end says; True when something has changed."""
        changed = False
        for machine, seen in sightings.items():
            one = self._machines.get(machine)
            if one is None or (one.starting and seen.state is State.GONE):
                continue  # what is being asked for may be there soon
            changed |= one.seen is None or one.seen.state is not seen.state
            one.seen = seen
            if seen.charged_seconds is not None:
                self._see_charged(one, seen, seen.charged_seconds)
            if seen.state is State.GONE:
                self._see_gone(one, seen)
            else:
                one.lost_since = None
                self._see_announced(one, seen)
                self._see_late(one, seen)
        return changed

    def _see_charged(self, one: Watched, seen: Sighting, seconds: float) -> None:
        """Its meter began no later than any answer tells: the first may have come late."""
        since = _charged_since(one, seconds)
        exact = 0.0 if seen.state is State.GONE else _EXACT_SECONDS
        if one.charged_since is None or since < one.charged_since - exact:
            one.charged_since = since
            one.owner.machines.charged(one.machine, since, seen.address)

    def _see_gone(self, one: Watched, seen: Sighting) -> None:
        if seen.gone is Gone.LOST and not self._surely_lost(one):
            return
        if one.ended:
            return
        if seen.gone is Gone.LOST and one.resumed and not one.joined and not one.stopping:
            one.asked, one.resumed = False, False
            self.start([one])  # the earlier master was killed before it asked for it
            return
        at = None
        if one.charged_since is not None and seen.charged_seconds is not None:
            at = min(one.charged_since + seen.charged_seconds, one.owner.clock())
        known = seen.gone is not Gone.LOST  # else nothing there is likely to answer
        if known and isinstance(self.backend, Remembering) and one.owner.waiting_for(one.machine):
            one.ended = True
            self._do(self._see_what_it_left(self.backend, one, seen, at))
        else:
            self._gone(one, at, *one.end(seen))

    async def _see_what_it_left(
        self, backend: Remembering, one: Watched, seen: Sighting, at: float | None
    ) -> None:
        for runner in one.owner.waiting_for(one.machine):
            await LeftResults(backend, self._context.files, runner, one.machine).bring()
        self._gone(one, at, *one.end(seen))

    def _surely_lost(self, one: Watched) -> bool:
        """Providers may be slow to know what they were asked for, and lists of a while ago."""
        now = asyncio.get_running_loop().time()
        if one.lost_since is None:
            one.lost_since = now
            self.look()
            return False
        if one.stopping or (one.resumed and not one.joined):
            return True
        worker = self._context.workers.of(one.machine)
        speaks = worker is not None and not worker.silent
        return now - one.lost_since >= _SURE_SECONDS and not speaks

    def _see_announced(self, one: Watched, seen: Sighting) -> None:
        if seen.state is State.STOPPING and seen.detail and not (one.stopping or one.announced):
            one.announced = True
            log.warning("machine is taken away soon", machine=one.machine, reason=seen.detail)
            one.owner.machines.announced(one.machine, seen.detail)

    def _see_late(self, one: Watched, seen: Sighting) -> None:
        """A machine that is charged and whose worker never comes is stopped, and explained."""
        limit = self._context.options.join_seconds
        if one.joined or one.stopping or (seen.charged_seconds or 0.0) < limit:
            return
        one.stopping = one.failure = f"its worker did not join within {limit:g} s"
        self._do(self._explain(one))

    async def _explain(self, one: Watched) -> None:
        try:
            written = await self.backend.log(one.machine)
        except Exception as error:
            written = f"(its log cannot be had: {error})"
        lines = written.strip().splitlines()[-_LOG_LINES:]
        one.failure = "\n".join(
            [f"{one.failure}; its log ends:", *lines] if lines else [one.failure]
        )
        log.warning("machine did not join", machine=one.machine, reason=one.failure)
        await self._stop([one])

    def _gone(self, one: Watched, at: float | None, cause: Cause, detail: str) -> None:
        self._forget(one)
        log.info("machine is gone", machine=one.machine, cause=cause.value, detail=detail)
        one.owner.machines.gone(one.machine, at, cause, detail)

    def _forget(self, one: Watched) -> None:
        self._machines.pop(one.machine, None)
        one.left.set()
        self._context.gone(one.machine)

    # --- tasks of our own -------------------------------------------------------------------------

    def _do(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, StoreDamagedError):
            log.error("fleet loop failed", offering=self.offering.name, exc_info=error)


def _charged_since(one: Watched, charged_seconds: float) -> float:
    """Since when a machine seen for the first time is charged, by its bag's clock.

    An answer may be long on its way, and the bill of one that is gone grows no more: where its bag
    has known it to be there before, since then. Its end is counted from the same time.
    """
    latest = max(0.0, one.owner.clock() - charged_seconds)
    known = one.owner.known(one.machine)
    if known is None or known.charged_since is None:
        return latest
    return min(latest, known.charged_since)


def _patience(machine: Watched) -> float:
    """The seconds to fetch what tasks left there, before the machine must go."""
    offering = machine.offering
    return _FETCH_SECONDS if offering.free else offering.boundary_seconds / 2
