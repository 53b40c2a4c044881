"""The fleet loop: tries again what may pass, gives up what cannot, explains what never joins."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benches import crowd_worker
from helpers.service import becomes, eventually, free, keeps_up, over, sweep
from helpers.workers import end_workers, workers_in

from bats.common.messages import MachineId
from bats.common.money import money
from bats.common.offering import Offering
from bats.common.ticket import UNRENEWED, Ticket
from bats.deploy.local import Local
from bats.deploy.protocol import BusyError, Gone, RefusedError, Sighting, Site
from bats.master.brain.rules.machines.hiring import START_FAILURES
from bats.master.client import Client, connect
from bats.master.service.home import WORKER
from bats.master.service.master import Master, serving
from bats.master.service.options import Options, place_of


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[tuple[Master, Client]]:
    given = {"state": folder / "state", "offerings": (free(),), **options}
    async with serving(Options(**given)) as master, connect(master.access) as client:
        try:
            yield master, client
        finally:
            end_workers(folder)


class Reluctant(Local):
    """A back end that has something against starting, some times."""

    complaints: list[Exception]
    asked = 0

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        self.asked += 1
        if self.complaints:
            raise self.complaints.pop(0)
        return await super().start(tickets)


def reluctant(folder: Path, *complaints: Exception) -> tuple[Reluctant, dict[str, Any]]:
    site = Site("", str(folder / "state"), Options().worker_command)
    backend = Reluctant(free(), site)
    backend.complaints = list(complaints)
    return backend, {"backends": {place_of(free()): backend}}


async def test_a_busy_back_end_is_asked_again(tmp_path: Path) -> None:
    backend, options = reluctant(tmp_path, BusyError("no capacity"))
    async with served(tmp_path, **options) as (_, client):
        bag = (await client.ask("submit", sweep=sweep(2)))["bag"]
        assert (await over(client, bag))["done"] == 2
        machines = (await client.ask("machines", bag=bag))["machines"]
    assert backend.asked == 2
    assert len(machines) == 1


async def test_what_has_nothing_to_give_is_planned_without_where_others_work(
    tmp_path: Path,
) -> None:
    backend, options = reluctant(tmp_path, *[BusyError("no capacity")] * 100)
    options |= {"offerings": (free(), free(name="two")), "busy_seconds": 2.0}
    gate = tmp_path / "gate"
    async with served(tmp_path, **options) as (_, client):
        work = sweep(4, f"until [ -e '{gate}' ]; do sleep 0.1; done")
        bag = (await client.ask("submit", sweep=work))["bag"]

        async def told() -> list[str]:
            return [one["set_aside"] for one in (await client.ask("explain", bag=bag))["profiles"]]

        await eventually(lambda: backend.asked >= 2)
        waiting = (await client.ask("machines", bag=bag))["machines"][0]
        assert (waiting["state"], waiting["reason"]) == ("requested", "no capacity")
        seen = await eventually(lambda: _set_aside(told), 60)
        assert seen == ["it had nothing to give for 2 s: no capacity", ""]
        gate.touch()
        assert (await over(client, bag, 60))["done"] == 4


async def _set_aside(told: Callable[[], Awaitable[list[str]]]) -> list[str] | None:
    found = await told()
    return found if any(found) else None


async def test_machines_that_take_longer_to_join_than_their_lease_lasts_are_soon_given_up(
    tmp_path: Path,
) -> None:
    slow = Offering("slow", money("0.001"), 1.0, 2, boundary_seconds=0.5, lease_seconds=1.0,
                    settings={"start_delay_seconds": 2.5})  # fmt: skip
    async with served(tmp_path, offerings=(slow,), poll_seconds=1.0) as (_, client):
        bag = (await client.ask("submit", sweep=sweep(2), budget=money(1)))["bag"]
        status = await over(client, bag)
        machines = (await client.ask("machines", bag=bag))["machines"]
    assert status["state"] == "no machines"
    told = "its lease of 2 s ran out before it joined: give slow a longer `lease`"
    assert told in status["words"]
    # On a busy computer one may join at the last moment, and its lease is over all the same.
    unrenewed = "its lease ran out before it was renewed"
    assert {told} <= {machine["reason"] for machine in machines} <= {told, unrenewed}
    assert len(machines) <= 2 * START_FAILURES


@pytest.mark.parametrize("never", ["queue_seconds", "start_delay_seconds"])
async def test_a_bag_is_done_by_the_machines_that_come(tmp_path: Path, never: str) -> None:
    """Others, cheaper ones, wait in a queue or boot for ever."""
    by_the_second = partial(Offering, atu_seconds=1.0, max_machines=2, boundary_seconds=0.5,
                            lease_seconds=5.0)  # fmt: skip
    offerings = (
        by_the_second("far", money("0.0001"), settings={never: 86_400}),
        by_the_second("here", money("0.001")),
    )
    async with served(tmp_path, offerings=offerings) as (_, client):
        work = sweep(40, "sleep 0.25")
        bag = (await client.ask("submit", sweep=work, budget=money(1), patience_seconds=2))["bag"]
        status = await over(client, bag)
        machines = (await client.ask("machines", bag=bag))["machines"]
    assert status["state"] == "complete"
    late = "no machine of it came within 2 s"
    spare = "no task is left for it"  # a sample of the others may suffice before that
    assert {one["reason"] for one in machines if one["offering"] == "far"} <= {late, spare}
    assert {one["offering"] for one in machines if one["joined"] is not None} == {"here"}


async def test_a_bag_can_be_cancelled_while_its_back_end_is_busy(tmp_path: Path) -> None:
    backend, options = reluctant(tmp_path, *[BusyError("no capacity")] * 100)
    async with served(tmp_path, **options) as (_, client):
        bag = (await client.ask("submit", sweep=sweep(2)))["bag"]
        await eventually(lambda: backend.asked >= 2)  # the next time is seconds away
        await client.ask("cancel", bag=bag)
        assert (await over(client, bag, 5))["state"] == "cancelled"


async def test_an_offering_that_refuses_is_set_aside_and_the_bag_says_why(tmp_path: Path) -> None:
    backend, options = reluctant(tmp_path, RefusedError("the account is closed"))
    async with served(tmp_path, **options) as (_, client):
        bag = (await client.ask("submit", sweep=sweep(2)))["bag"]
        status = await over(client, bag)
        assert status["state"] == "no machines"
        assert "the account is closed" in status["words"]
    assert backend.asked == 1


async def test_a_machine_that_never_joins_is_stopped_and_explained_by_its_log(
    tmp_path: Path,
) -> None:
    command = ("/bin/sh", "-c", "echo the network is down >&2; exec sleep 600")
    async with served(tmp_path, worker_command=command, join_seconds=1.0) as (_, client):
        bag = (await client.ask("submit", sweep=sweep(2)))["bag"]
        status = await over(client, bag, 60)
        machines = (await client.ask("machines", bag=bag))["machines"]
        assert status["state"] == "no machines"
        assert all("did not join within 1 s" in one["reason"] for one in machines)
        assert all("the network is down" in one["reason"] for one in machines)
    assert not workers_in(tmp_path)


async def test_two_offerings_with_machines_of_several_slots_share_a_bag(tmp_path: Path) -> None:
    offerings = (free(slots=2, name="one"), replace(free(machines=2, name="two"), slots=1))
    async with served(tmp_path, offerings=offerings) as (_, client):
        bag = (await client.ask("submit", sweep=sweep(40, "sleep 0.05")))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) > 10)
        assert len(workers_in(tmp_path)) == 3
        status = await over(client, bag)
        assert status["done"] == 40
        page = await client.ask("tasks", bag=bag, limit=40)
        assert {row["cluster"] for row in page["tasks"]} == {"one", "two"}
    assert not workers_in(tmp_path)


async def test_a_crowd_of_idle_workers_is_heard(tmp_path: Path) -> None:
    """Measured in scripts/bench.py; here only that they are all heard and none falls silent."""
    async with served(tmp_path, offerings=(), heartbeat_seconds=1.0) as (master, client):
        process = await asyncio.create_subprocess_exec(
            *Options().worker_command[:1],
            crowd_worker.__file__,
            str(master.home.folder / WORKER),
            "200",
            stdin=asyncio.subprocess.PIPE,
        )
        try:
            await eventually(lambda: len(master.snapshot()["workers"]) == 200, 30)
            await eventually(lambda: master.router.messages > 600, 30)
            assert not any(worker["silent"] for worker in master.snapshot()["workers"])
            assert await keeps_up(client)
        finally:
            process.kill()
            await process.wait()


class Hasty(Local):
    """A back end whose machines' leases end just when they are told to stop."""

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        seen = await super().status(machines)
        return {
            machine: replace(one, gone=Gone.EXPIRED, detail=UNRENEWED) if one.gone else one
            for machine, one in seen.items()
        }


async def test_a_machine_that_was_told_to_go_says_why_though_its_lease_was_over_first(
    tmp_path: Path,
) -> None:
    site = Site("", str(tmp_path / "state"), Options().worker_command)
    backends = {place_of(free()): Hasty(free(), site)}
    async with served(tmp_path, backends=backends) as (_, client):
        bag = (await client.ask("submit", sweep=sweep(2)))["bag"]
        await over(client, bag)
        (machine,) = (await client.ask("machines", bag=bag))["machines"]
    assert machine["reason"] == "the bag has ended"


async def test_a_machine_whose_lease_ends_by_itself_says_so(tmp_path: Path) -> None:
    async with served(tmp_path) as (master, client):
        bag = (await client.ask("submit", sweep=sweep(1, "sleep 60")))["bag"]
        await becomes(client, bag, lambda status: status.get("running", 0) == 1)
        runner = master.bags.loaded[bag]
        (machine,) = runner.machines.rows
        master.workers.lease(machine, 0.2)
        told = await eventually(lambda: runner.machines.rows[machine].reason, 30)
        assert told == "its lease ran out before it was renewed"
        await client.ask("cancel", bag=bag)
        await over(client, bag)
