"""Machines that are instances of Amazon EC2, or of what speaks its language (extra `ec2`)."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from bats.common.messages import MachineId
from bats.common.money import Money, show
from bats.common.offering import Offering
from bats.common.ticket import Ticket
from bats.deploy import backend_table, payload
from bats.deploy.ec2.aws_api import AT_ONCE, Account, Instance, Settings
from bats.deploy.ec2.aws_errors import backend_error
from bats.deploy.ec2.user_data import Source, exit_code, fetched, taken_away, user_data
from bats.deploy.exit_codes import verdict
from bats.deploy.protocol import (
    BackendError,
    BusyError,
    Feature,
    Gone,
    Orphan,
    Price,
    RefusedError,
    Sighting,
    Site,
    State,
)

T = TypeVar("T")

UNSEEN_SECONDS: Final = 120.0  # a new instance may not be told of at once
LOG_LINES: Final = 40
STATES: Final = {
    "pending": State.REQUESTED,
    "running": State.UP,
    "shutting-down": State.STOPPING,
    "stopping": State.STOPPING,
}
REASONS: Final = {
    "Server.SpotInstanceTermination": Gone.PREEMPTED,
    "Server.SpotInstanceShutdown": Gone.PREEMPTED,
    "Client.UserInitiatedShutdown": Gone.STOPPED,
}
BY_ITSELF: Final = "Client.InstanceInitiatedShutdown"
ANNOUNCED: Final = "Amazon has announced to take it away"
TAKEN: Final = "Amazon took it away"


class Ec2:
    """Instances of EC2. Their tags say whose they are: nothing has to be written down here."""

    def __init__(self, offering: Offering, site: Site) -> None:
        self._offering = offering
        self._settings = backend_table.read(Settings, offering)
        tags = {"bats:master": site.master_id, "bats:offering": offering.name}
        self._account = Account(self._settings, tags)
        self._threads = ThreadPoolExecutor(AT_ONCE, "ec2")
        self._uploaded = ""
        self._asked: dict[MachineId, tuple[Instance, float]] = {}  # and when
        self._stopped: set[MachineId] = set()
        self._charged: dict[MachineId, float] = {}  # when last seen
        self._announced: set[MachineId] = set()  # to be taken away
        self._ended: dict[MachineId, Sighting] = {}

    def lacks(self) -> Mapping[Feature, str]:
        lacking = {Feature.QUEUE: "Amazon starts an instance at once or not at all"}
        if not self._settings.spot:
            lacking[Feature.PREEMPTION] = "only spot instances are taken away; set `spot = true`"
        return lacking

    async def check(self) -> str:
        return await self._do(self._check)

    async def price(self) -> Price:
        """The price of an instance of this offering now."""
        return await self._do(self._account.price)

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        there = await self._do(self._account.instances)
        known = [t.machine for t in tickets if t.machine in there or t.machine in self._asked]
        started = dict(await self.status(known))
        failed: dict[MachineId, BackendError] = {}
        if fresh := [t for t in tickets if t.machine not in started]:
            source = await self._do(self._source)
            asked = (self._do(partial(self._run, source, ticket)) for ticket in fresh)
            answers = await asyncio.gather(*asked, return_exceptions=True)
            for ticket, answer in zip(fresh, answers, strict=True):
                if isinstance(answer, BackendError):
                    failed[ticket.machine] = answer
                elif isinstance(answer, BaseException):
                    raise answer
                else:
                    started[ticket.machine] = answer
        if failed and not started:
            busy = [error for error in failed.values() if isinstance(error, BusyError)]
            raise busy[0] if busy else next(iter(failed.values()))
        return started | {
            machine: Sighting(State.GONE, gone=Gone.FAILED, detail=str(error))
            for machine, error in failed.items()
        }

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        if not all(machine in self._ended for machine in machines):
            return await self._do(partial(self._look, machines))
        return {machine: self._ended[machine] for machine in machines}

    async def stop(self, machines: Sequence[MachineId]) -> None:
        self._stopped.update(machines)
        await self._do(partial(self._stop, machines))

    async def list_ours(self) -> Sequence[Orphan]:
        there = await self._do(self._account.instances)
        return [
            Orphan(machine, self._offering.name, told.address, told.charged_seconds)
            for machine, told in there.items()
            if told.state not in {"shutting-down", "terminated"}
        ]

    async def log(self, machine: MachineId) -> str:
        return await self._do(partial(self._log, machine))

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _do(self, work: Callable[[], T]) -> T:
        def told() -> T:
            try:
                return work()
            except (ClientError, BotoCoreError) as error:
                raise backend_error(error) from error

        return await asyncio.get_running_loop().run_in_executor(self._threads, told)

    # --- in threads, from here on ---

    def _check(self) -> str:
        self._account.check()
        self._source()
        now = self._account.price()
        hourly = Money(round(self._offering.price * 3600 / self._offering.atu_seconds))
        told = f"{show(now.per_hour, places=4)} per hour on {now.day} ({now.source})"
        differs = "" if hourly == now.per_hour else f"; the offering says {show(hourly, places=4)}"
        return f"{self._settings.instance_type} in {self._account.region()} costs {told}{differs}"

    def _source(self) -> Source:
        given = self._settings
        if given.worker:
            return Source(given.setup, given.worker)
        built = payload.build(plain=False)
        name = f"bats/{built.name}.zip"
        if self._uploaded != name:
            self._account.put(name, built.data)
            self._uploaded = name
        source = fetched(built, self._account.url(name))
        return replace(source, setup=(*given.setup, *source.setup))

    def _run(self, source: Source, ticket: Ticket) -> Sighting:
        try:
            data = user_data(source, ticket, self._settings.user, spot=self._settings.spot)
        except ValueError as error:
            raise RefusedError(f"offering {self._offering.name}: {error}") from error
        told = self._account.run(ticket.machine, data)
        self._asked[ticket.machine] = told, time.monotonic()
        if ticket.machine in self._stopped:  # while it was being asked for
            self._account.terminate([told.id])
        return Sighting(State.REQUESTED, told.address)

    def _look(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        there = self._account.instances()
        running = [told.id for told in there.values() if told.state == "running"]
        interrupted = self._account.interrupted(running)
        found = {}
        for machine in machines:
            told = there.get(machine)
            if machine in self._ended:
                found[machine] = self._ended[machine]
            elif told is None:
                found[machine] = self._unseen(machine)
            elif told.state in STATES:
                found[machine] = self._living(machine, told, told.id in interrupted)
            else:
                found[machine] = self._ended[machine] = self._gone(machine, told)
        return found

    def _living(self, machine: MachineId, told: Instance, interrupted: bool) -> Sighting:
        if told.charged_seconds is not None:
            self._charged[machine] = told.charged_seconds
        stopping = interrupted or machine in self._stopped
        state = State.STOPPING if stopping else STATES[told.state]
        detail = ANNOUNCED if interrupted else ""
        if interrupted:
            self._announced.add(machine)
        return Sighting(state, told.address, told.charged_seconds, detail=detail)

    def _gone(self, machine: MachineId, told: Instance) -> Sighting:
        gone, detail = REASONS.get(told.reason_code, Gone.FAILED), told.reason
        if machine in self._announced:  # whoever ended it then
            gone, detail = Gone.PREEMPTED, TAKEN
        elif machine in self._stopped:
            gone = Gone.STOPPED
        elif told.reason_code == BY_ITSELF:
            gone, detail = self._last_words(told)
        charged = told.charged_seconds
        if charged is None:
            charged = self._charged.get(machine)
        detail = "" if gone is Gone.STOPPED else detail
        return Sighting(State.GONE, told.address, charged, gone, detail)

    def _last_words(self, told: Instance) -> tuple[Gone, str]:
        """The reason why an instance shut itself down."""
        log = self._account.console(told.id)
        code = exit_code(log)
        if taken_away(log):
            gone, detail = Gone.PREEMPTED, TAKEN
        elif code is None:
            gone, detail = Gone.FAILED, "it shut itself down, and its console does not say why"
        else:
            gone, detail = verdict(code)
        return gone, f"{detail}\n{_tail(log)}".rstrip() if gone is Gone.FAILED else detail

    def _unseen(self, machine: MachineId) -> Sighting:
        if machine not in self._asked:
            return Sighting(State.GONE, gone=Gone.LOST, detail="no such machine was started")
        told, at = self._asked[machine]
        if time.monotonic() - at < UNSEEN_SECONDS:
            return Sighting(State.REQUESTED, told.address)
        detail = f"Amazon knows no instance {told.id} any more"
        return Sighting(State.GONE, told.address, self._charged.get(machine), Gone.LOST, detail)

    def _stop(self, machines: Sequence[MachineId]) -> None:
        there = self._account.instances()
        asked = {m: told for m, (told, _) in self._asked.items() if m not in self._ended}
        known = {**asked, **there}
        wanted = [known[machine] for machine in machines if machine in known]
        self._account.terminate(told.id for told in wanted if told.state != "terminated")

    def _log(self, machine: MachineId) -> str:
        told = self._account.instances().get(machine)
        return _tail(self._account.console(told.id)) if told else ""


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-LOG_LINES:])
