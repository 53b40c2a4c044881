"""Processes of this computer keep the contract, and many of them start at once."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bats.common.messages import MachineId, Outcome
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.endpoint import Endpoint
from bats.deploy.local import Local
from bats.deploy.protocol import Feature, Gone, RefusedError, Sighting, Site, State
from bats.deploy.testing import BackendContract, Bench, becomes, eventually, opened

WORKER = (sys.executable, "-m", "bats.worker")
TICK_SECONDS = 0.1  # as exactly as the kernel says when a process started, and a little more
HERE = Offering(ClusterName("here"), NOTHING, 3600.0, max_machines=64)


def pid_of(seen: Sighting) -> int:
    return int(seen.address.split()[-1])


async def kill_the_worker(_: MachineId, seen: Sighting) -> None:
    os.kill(pid_of(seen), signal.SIGKILL)


class TestLocal(BackendContract):
    lacking = frozenset({Feature.PREEMPTION, Feature.QUEUE})

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Bench:
        site = Site("test", str(tmp_path), WORKER)
        return Bench(
            offering=HERE,
            site=site,
            crash=kill_the_worker,
            broken=(HERE, replace(site, worker_command=("/nonexistent/worker",))),
            leftovers=partial(asyncio.to_thread, holding, tmp_path, but="keeper.log"),
            patience_seconds=60,
        )

    async def test_sixty_four_machines_start_at_once_and_all_join(self, bench: Bench) -> None:
        async with bench.tried() as (backend, master):
            tickets = [master.ticket() for _ in range(64)]
            seen = await backend.start(tickets)
            assert all(sighting.state is State.UP for sighting in seen.values())
            for ticket in tickets:
                await master.joined(ticket.machine, bench.patience_seconds)
            await backend.stop(list(seen))
            await becomes(backend, seen, State.GONE, bench.patience_seconds)

    async def test_an_emulated_boot_is_charged_and_can_be_broken_off(self, bench: Bench) -> None:
        slow = replace(HERE, settings={"start_delay_seconds": 600})
        async with Endpoint() as master, opened(slow, bench.site) as backend:
            ticket = master.ticket()
            seen = (await backend.start([ticket]))[ticket.machine]
            assert seen.charged_seconds is not None
            await backend.stop([ticket.machine])
            ended = await becomes(backend, [ticket.machine], State.GONE, bench.patience_seconds)
            assert ended[ticket.machine].gone is Gone.STOPPED

    async def test_an_emulated_queue_costs_nothing_and_can_be_left(self, bench: Bench) -> None:
        full = replace(HERE, settings={"queue_seconds": 600})
        async with Endpoint() as master, opened(full, bench.site) as backend:
            ticket = master.ticket()
            seen = (await backend.start([ticket]))[ticket.machine]
            assert (seen.state, seen.charged_seconds) == (State.QUEUED, None)
            assert [one.charged_seconds for one in await backend.list_ours()] == [None]
            await backend.stop([ticket.machine])
            ended = await becomes(backend, [ticket.machine], State.GONE, bench.patience_seconds)
            assert ended[ticket.machine].gone is Gone.STOPPED
            assert ended[ticket.machine].charged_seconds is None

    async def test_a_machine_is_charged_from_the_end_of_its_emulated_queue(
        self, bench: Bench
    ) -> None:
        queue_seconds = 3.0
        busy = replace(HERE, settings={"queue_seconds": queue_seconds})
        async with Endpoint() as master, opened(busy, bench.site) as backend:
            ticket = master.ticket(lease_seconds=queue_seconds)  # it, too, counts from there
            asked = time.monotonic()
            seen = (await backend.start([ticket]))[ticket.machine]
            assert seen.state is State.QUEUED
            await master.joined(ticket.machine, bench.patience_seconds)
            assert time.monotonic() - asked >= queue_seconds
            up = (await backend.status([ticket.machine]))[ticket.machine]
            assert up.state is State.UP
            assert up.charged_seconds is not None
            assert up.charged_seconds <= time.monotonic() - asked - queue_seconds + TICK_SECONDS
            await backend.stop([ticket.machine])

    async def test_tasks_are_told_the_speed_they_emulate(self, bench: Bench) -> None:
        async with (
            Endpoint() as master,
            opened(replace(HERE, settings={"speed": 0.25}), bench.site) as backend,
        ):
            ticket = master.ticket()
            await backend.start([ticket])
            await master.joined(ticket.machine, bench.patience_seconds)
            told = 'test "$BATS_SPEED" = 0.25'
            result = await master.run(ticket.machine, told, bench.patience_seconds)
            assert result.outcome == Outcome.DONE
            await backend.stop([ticket.machine])

    async def test_a_keeper_that_was_killed_is_replaced_and_its_machines_live_on(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        async with bench.tried() as (backend, master):
            first, second = master.ticket(), master.ticket()
            await backend.start([first])
            await master.joined(first.machine, bench.patience_seconds)
            (keeper,) = set(holding(tmp_path)) - set(holding(tmp_path, but="keeper.log"))
            os.kill(int(keeper), signal.SIGKILL)
            await backend.start([second])
            await master.joined(second.machine, bench.patience_seconds)
            seen = await backend.status([first.machine, second.machine])
            assert {sighting.state for sighting in seen.values()} == {State.UP}

    async def test_the_keeper_ends_with_the_master_and_the_last_machine(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        async with bench.tried() as (backend, master):
            ticket = master.ticket()
            await backend.start([ticket])
            await master.joined(ticket.machine, bench.patience_seconds)
        await eventually(
            partial(asyncio.to_thread, holding, tmp_path), lambda left: not left, 60, "all ended"
        )

    async def test_a_keeper_that_starts_while_the_back_end_closes_ends_with_it(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        local = Local(HERE, bench.site)
        warming = asyncio.create_task(asyncio.to_thread(local.warm))
        await asyncio.sleep(0)  # its thread has begun
        await local.close()
        await warming
        local.warm()  # a thread that begins later still
        await eventually(
            partial(asyncio.to_thread, holding, tmp_path), lambda left: not left, 60, "all ended"
        )
        async with Endpoint() as master:
            with pytest.raises(RefusedError, match="lets go"):
                await local.start([master.ticket()])


def holding(folder: Path, *, but: str = "") -> list[str]:
    """Processes with a file open in there: their command lines say nothing of it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile
            held = [str(file.readlink()) for file in (entry / "fd").iterdir()]
            if any(name.startswith(f"{folder}/") and Path(name).name != but for name in held):
                found.append(entry.name)
    return found
