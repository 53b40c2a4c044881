"""The contract every back end keeps, as tests that other packages run on theirs, too.

    from bats.deploy.testing import BackendContract, Bench

    class TestMine(BackendContract):
        lacking = frozenset({Feature.QUEUE})  # if so by design

        @pytest.fixture
        def bench(self, tmp_path): return Bench(offering=..., site=..., crash=...)

Every test runs against the real thing: real machines of that back end join a real master over the
encrypted link. Tests of what a back end lacks are left out, and `lacks()` must give the reason.
(pytest-asyncio runs them; the package must be installed, so that its entry point is found.)
"""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import pytest

from bats.common.messages import MachineId, Outcome
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.ticket import Ticket, from_json, to_json
from bats.deploy import registry
from bats.deploy.endpoint import Endpoint
from bats.deploy.protocol import (
    Backend,
    BackendError,
    Feature,
    Gone,
    Remembering,
    Sighting,
    Site,
    State,
)

T = TypeVar("T")

POLL_SECONDS: Final = 0.05
ALIVE: Final = {State.REQUESTED, State.QUEUED, State.STARTING, State.UP}


@dataclass(frozen=True)
class Bench:
    """One back end as it can be had on this machine, with a `master_id` no other test uses."""

    offering: Offering  # of at least 8 machines
    site: Site
    crash: Callable[[MachineId, Sighting], Awaitable[None]]
    """Break a machine as a power cut would: what the sighting shows may be killed, not asked."""
    reach: str = "127.0.0.1"  # the address of this machine as machines there see it
    listen: str = ""  # what the master binds; "": the same
    broken: tuple[Offering, Site] | None = None  # machines asked for so never come up
    crowded: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """Leave no room for a machine while this is entered: it has to queue."""
    preempt: Callable[[MachineId, Sighting], Awaitable[None]] | None = None
    leftovers: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Everything of this site that still runs, asked of the provider and not of the back end."""
    lease_seconds: float = 5.0  # of a machine that hears nothing; longer than its set-up takes
    patience_seconds: float = 60.0  # from the request until a machine has joined, at worst

    @contextlib.asynccontextmanager
    async def backend(self) -> AsyncIterator[Backend]:
        async with opened(self.offering, self.site) as backend:
            yield backend

    @contextlib.asynccontextmanager
    async def tried(self) -> AsyncIterator[tuple[Backend, Endpoint]]:
        """The back end and a master; all machines are stopped afterwards, whatever happened."""
        async with (
            Endpoint(self.reach, listen=self.listen) as master,
            self.backend() as backend,
        ):
            try:
                yield backend, master
            finally:
                await backend.stop([o.machine for o in await backend.list_ours() if o.machine])


@contextlib.asynccontextmanager
async def opened(offering: Offering, site: Site) -> AsyncIterator[Backend]:
    backend = registry.backend(offering, site)
    try:
        yield backend
    finally:
        await backend.close()


async def eventually(
    ask: Callable[[], Awaitable[T]], good: Callable[[T], bool], within_seconds: float, what: str
) -> T:
    """The first answer that is good; AssertionError with the last one when none comes in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_seconds
    while True:
        answer = await ask()
        if good(answer):
            return answer
        if loop.time() > deadline:
            raise AssertionError(f"{within_seconds:g} s passed before {what}: {answer}")
        await asyncio.sleep(POLL_SECONDS)


async def becomes(
    backend: Backend, machines: Iterable[MachineId], state: State, within_seconds: float
) -> Mapping[MachineId, Sighting]:
    """The first sightings in which all these machines are in that state."""
    wanted = list(machines)
    return await eventually(
        lambda: backend.status(wanted),
        lambda seen: all(seen[machine].state is state for machine in wanted),
        within_seconds,
        f"all were {state.value}",
    )


def skip_if_lacking(backend: Backend, feature: Feature) -> None:
    reason = backend.lacks().get(feature)
    if reason is not None:
        pytest.skip(f"by design: {reason}")


_TESTS: Final[Mapping[Feature, str]] = {
    Feature.BILLING_START: "test_a_machine_that_is_up_says_for_how_long_it_is_charged",
    Feature.PREEMPTION: "test_a_machine_taken_away_is_told_from_one_that_broke",
    Feature.QUEUE: "test_a_machine_without_room_waits_uncharged",
}


@pytest.mark.asyncio
class BackendContract:
    """Inherit, and give a fixture `bench`."""

    lacking: ClassVar[frozenset[Feature]] = frozenset()

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for feature in cls.lacking:
            if name := _TESTS.get(feature):
                setattr(cls, name, None)  # so it is not collected

    async def test_the_check_says_in_one_sentence_that_the_offering_works(
        self, bench: Bench
    ) -> None:
        async with bench.backend() as backend:
            sentence = await backend.check()
        assert sentence
        assert "\n" not in sentence

    async def test_what_it_lacks_comes_with_a_reason(self, bench: Bench) -> None:
        async with bench.backend() as backend:
            lacks = backend.lacks()
        assert all(lacks.values())
        assert self.lacking <= set(lacks), "what is left out here must be said there"

    async def test_a_machine_joins_and_runs_a_task(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            (seen,) = (await backend.start([ticket])).values()
            assert seen.state in ALIVE
            hello = await master.joined(ticket.machine, bench.patience_seconds)
            assert hello.slots == 1
            result = await master.run(ticket.machine, "exit 0", bench.patience_seconds)
            assert result.outcome == Outcome.DONE

    async def test_eight_machines_are_asked_for_at_once_and_all_join(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            tickets = [master.ticket() for _ in range(8)]
            seen = await backend.start(tickets)
            assert set(seen) == {ticket.machine for ticket in tickets}
            for ticket in tickets:
                await master.joined(ticket.machine, bench.patience_seconds)
            await becomes(backend, seen, State.UP, bench.patience_seconds)
            found = await backend.list_ours()
            assert {orphan.machine for orphan in found} >= set(seen)

    async def test_a_machine_that_is_up_says_for_how_long_it_is_charged(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            skip_if_lacking(backend, Feature.BILLING_START)
            before = asyncio.get_running_loop().time()
            machine = await self._one_up(bench, backend, master)
            first = (await backend.status([machine]))[machine].charged_seconds
            passed = asyncio.get_running_loop().time() - before
            assert first is not None
            assert 0 <= first <= passed + 1.5  # providers count in whole seconds
            again = (await backend.status([machine]))[machine].charged_seconds
            assert again is not None
            assert again >= first

    async def test_a_stopped_machine_is_gone_as_asked_and_costs_no_more(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            machine = await self._one_up(bench, backend, master)
            await backend.stop([machine])
            seen = await becomes(backend, [machine], State.GONE, bench.patience_seconds)
            assert seen[machine].gone is Gone.STOPPED
            later = (await backend.status([machine]))[machine]
            assert later.charged_seconds == seen[machine].charged_seconds
            if isinstance(backend, Remembering):
                assert (await backend.left(machine, "outbox", 4, 4)) == b"OUT1"
                assert (await backend.left(machine, "no such file", 0, 4)) == b""
            await self._nothing_is_left(bench)

    async def test_stopping_twice_or_the_unknown_is_no_error(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            machine = await self._one_up(bench, backend, master)
            await backend.stop([machine])
            await backend.stop([machine, MachineId(999_999)])
            seen = await becomes(backend, [machine], State.GONE, bench.patience_seconds)
            await backend.stop([machine])
            assert seen[machine].gone is Gone.STOPPED

    async def test_a_machine_can_be_stopped_before_it_has_joined(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            await backend.start([ticket])
            await backend.stop([ticket.machine])
            seen = await becomes(backend, [ticket.machine], State.GONE, bench.patience_seconds)
            assert seen[ticket.machine].gone is Gone.STOPPED
            await self._nothing_is_left(bench)

    async def test_a_machine_nobody_asked_for_is_lost(self, bench: Bench) -> None:
        unknown = MachineId(999_999)
        async with bench.backend() as backend:
            seen = await backend.status([unknown])
            assert seen[unknown].state is State.GONE
            assert seen[unknown].gone is Gone.LOST
            assert await backend.log(unknown) == ""

    async def test_a_crash_is_told_from_a_stop(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            machine = await self._one_up(bench, backend, master)
            await bench.crash(machine, (await backend.status([machine]))[machine])
            seen = await becomes(backend, [machine], State.GONE, bench.patience_seconds)
            assert seen[machine].gone in {Gone.FAILED, Gone.LOST}
            assert seen[machine].detail

    async def test_a_machine_whose_master_says_stop_is_no_failure(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            machine = await self._one_up(bench, backend, master)
            await master.dismiss(machine)
            seen = await becomes(backend, [machine], State.GONE, bench.patience_seconds)
            assert seen[machine].gone is Gone.STOPPED

    async def test_a_machine_whose_lease_ends_is_expired(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            master.silent = True
            ticket = master.ticket(lease_seconds=bench.lease_seconds)
            await backend.start([ticket])
            seen = await becomes(backend, [ticket.machine], State.GONE, bench.patience_seconds)
            assert seen[ticket.machine].gone is Gone.EXPIRED
            await self._nothing_is_left(bench)

    async def test_a_machine_that_cannot_start_says_why(self, bench: Bench) -> None:
        if bench.broken is None:
            pytest.skip("nothing is known here that breaks a start")
        async with (
            Endpoint(bench.reach, listen=bench.listen) as master,
            opened(*bench.broken) as backend,
        ):
            ticket = master.ticket()
            try:
                await backend.start([ticket])
            except BackendError as error:
                reason = str(error)
            else:
                seen = await becomes(backend, [ticket.machine], State.GONE, bench.patience_seconds)
                assert seen[ticket.machine].gone is Gone.FAILED
                reason = seen[ticket.machine].detail
            assert reason

    async def test_asking_again_for_a_machine_starts_no_second_one(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            await backend.start([ticket])
            first = await master.joined(ticket.machine, bench.patience_seconds)
            (again,) = (await backend.start([ticket])).values()
            assert again.state in ALIVE
            found = [o for o in await backend.list_ours() if o.machine == ticket.machine]
            assert len(found) == 1
            assert (await master.joined(ticket.machine, 1)).incarnation == first.incarnation

    async def test_a_machine_without_room_waits_uncharged(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            skip_if_lacking(backend, Feature.QUEUE)
            assert bench.crowded, "say how to crowd a back end that can queue"
            ticket = master.ticket()
            async with bench.crowded():
                await backend.start([ticket])
                seen = await becomes(
                    backend, [ticket.machine], State.QUEUED, bench.patience_seconds
                )
                assert seen[ticket.machine].charged_seconds is None
            await master.joined(ticket.machine, bench.patience_seconds)

    async def test_a_machine_taken_away_is_told_from_one_that_broke(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            skip_if_lacking(backend, Feature.PREEMPTION)
            assert bench.preempt, "say how to pre-empt on a back end that tells it"
            machine = await self._one_up(bench, backend, master)
            await bench.preempt(machine, (await backend.status([machine]))[machine])
            seen = await becomes(backend, [machine], State.GONE, bench.patience_seconds)
            assert seen[machine].gone is Gone.PREEMPTED

    async def test_machines_of_a_master_that_was_killed_are_found_and_stopped(
        self, bench: Bench
    ) -> None:
        async with Endpoint(bench.reach, listen=bench.listen) as master:
            tickets = [master.ticket() for _ in range(2)]
            machines = {ticket.machine for ticket in tickets}
            await asyncio.to_thread(start_and_be_killed, bench.offering, bench.site, tickets)
            async with bench.backend() as backend:
                for machine in machines:
                    await master.joined(machine, bench.patience_seconds)
                await becomes(backend, machines, State.UP, bench.patience_seconds)
                if Feature.ORPHANS not in backend.lacks():
                    found = await backend.list_ours()
                    assert {orphan.machine for orphan in found} == machines
                    assert all(orphan.address for orphan in found)
                await backend.stop(list(machines))
                await becomes(backend, machines, State.GONE, bench.patience_seconds)
                assert not await backend.list_ours()
        await self._nothing_is_left(bench)

    async def test_no_secret_is_on_a_command_line_or_in_a_file_that_stays(
        self, bench: Bench
    ) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            await backend.start([ticket])
            await master.joined(ticket.machine, bench.patience_seconds)
            await asyncio.to_thread(_expect_nowhere, ticket.secret_key, bench.site.state_folder)
            assert ticket.secret_key not in await backend.log(ticket.machine)
            seen = await becomes(backend, [ticket.machine], State.UP, bench.patience_seconds)
            await bench.crash(ticket.machine, seen[ticket.machine])
            await becomes(backend, [ticket.machine], State.GONE, bench.patience_seconds)
            assert ticket.secret_key not in await backend.log(ticket.machine)

    async def _one_up(self, bench: Bench, backend: Backend, master: Endpoint) -> MachineId:
        ticket = master.ticket()
        await backend.start([ticket])
        await master.joined(ticket.machine, bench.patience_seconds)
        await becomes(backend, [ticket.machine], State.UP, bench.patience_seconds)
        return ticket.machine

    async def _nothing_is_left(self, bench: Bench) -> None:
        if bench.leftovers:
            await eventually(
                bench.leftovers,
                lambda left: not left,
                bench.patience_seconds,
                "nothing was left",
            )


def _expect_nowhere(secret: str, folder: str) -> None:
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # ended meanwhile
            assert secret.encode() not in command_line.read_bytes(), command_line
    for file in Path(folder).rglob("*"):
        if file.is_file() and file.stat().st_mode & 0o077:
            assert secret.encode() not in file.read_bytes(), file


def start_and_be_killed(offering: Offering, site: Site, tickets: Sequence[Ticket]) -> None:
    """Start machines from a process that is then killed as if by the kernel."""
    told = {"offering": asdict(offering), "site": asdict(site)}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "bats.deploy.testing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as master:
        assert master.stdin
        assert master.stdout
        master.stdin.write(json.dumps(told) + "\n")
        master.stdin.writelines(to_json(ticket) for ticket in tickets)
        master.stdin.write("\n")
        master.stdin.flush()
        heard = master.stdout.readline()
        master.kill()
    assert heard == "started\n", "the machines could not be started"


async def _start_and_wait() -> None:
    told = json.loads(sys.stdin.readline())
    site = Site(**{**told["site"], "worker_command": tuple(told["site"]["worker_command"])})
    lines = iter(sys.stdin.readline, "\n")
    tickets = [from_json(line, "standard input") for line in lines]
    backend = registry.backend(Offering(**told["offering"]), site)
    await backend.start(tickets)
    print("started", flush=True)
    sys.stdin.readline()  # until killed


if __name__ == "__main__":
    asyncio.run(_start_and_wait())
