"""Machines that live and are in no book are told of with their cost, stopped, or taken back."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from helpers.service import Make, becomes, eventually, over, sweep
from helpers.workers import daemon_of, end_workers, workers_in

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.deploy.protocol import Site
from bats.master.client import Client, connect
from bats.master.service.machines import unattended
from bats.master.service.master import Master, serving
from bats.master.service.options import Options

PAID = Offering(ClusterName("rented"), money("0.10"), 600.0, 2, boundary_seconds=5.0)


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[tuple[Master, Client]]:
    given = {
        "state": folder / "state",
        "offerings": (PAID,),
        "poll_seconds": 0.3,
        "heartbeat_seconds": 0.5,
        **options,
    }
    async with serving(Options(**given)) as master, connect(master.access) as client:
        try:
            yield master, client
        finally:
            end_workers(folder)


async def working(client: Client, gate: Path, budget: str) -> tuple[int, dict[str, Any]]:
    """A bag at work, and one of its machines that does some of it."""
    work = sweep(12, f"until [ -e '{gate}' ]; do sleep 0.1; done", budget=money(budget))
    bag = (await client.ask("submit", sweep=work, rule="fastest"))["bag"]
    return bag, await eventually(lambda: up(client, bag), 60)


async def up(client: Client, bag: int) -> dict[str, Any] | None:
    found = (await client.ask("machines", bag=bag))["machines"]
    return next((one for one in found if one["state"] == "up" and one["running"]), None)


async def one_of(client: Client, bag: int, number: int) -> dict[str, Any]:
    found = (await client.ask("machines", bag=bag))["machines"]
    return next(one for one in found if one["number"] == number)


async def lose(client: Client, folder: Path, bag: int, machine: dict[str, Any]) -> None:
    """The folder that tells of the machine cannot be seen for a while, and its worker is frozen."""
    number = machine["number"]
    daemon = daemon_of(workers_in(folder)[number])
    (entry,) = folder.rglob(f"{number}/process.json")
    entry.rename(entry.with_name("out of sight"))
    os.kill(daemon, signal.SIGSTOP)
    await eventually(lambda: _gone(client, bag, number), 60)
    os.kill(daemon, signal.SIGCONT)
    entry.with_name("out of sight").rename(entry)


async def _gone(client: Client, bag: int, number: int) -> bool:
    return (await one_of(client, bag, number))["state"] == "gone"


async def test_a_machine_held_to_be_gone_is_taken_back_works_and_is_paid_for(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    async with served(tmp_path) as (_, client):
        bag, machine = await working(client, gate, "1")
        await lose(client, tmp_path, bag, machine)
        (stray,) = (await client.ask("orphans"))["orphans"]
        assert stray["number"] == machine["number"]
        assert (stray["lost"], stray["done"], stray["cost"]) == ("", "", PAID.price)
        before = (await client.ask("snapshot"))["committed"]
        (stray,) = (await client.ask("orphans", do="adopt"))["orphans"]
        assert stray["done"] == "taken back"
        assert (await client.ask("snapshot"))["committed"] == before + PAID.price
        assert not (await client.ask("orphans"))["orphans"]

        async def again() -> bool:
            return (await one_of(client, bag, machine["number"]))["state"] == "up"

        await eventually(again, 60)
        gate.touch()
        status = await over(client, bag, 60)
        assert (status["state"], status["done"]) == ("complete", 12)
        told = (await client.ask("machines", bag=bag))["machines"]
        assert status["spent"] == sum(one["cost"] for one in told)
        twice = next(one for one in told if one["number"] == machine["number"])
        assert twice["cost"] == 2 * PAID.price  # settled when it was lost, and again from then on
    assert not workers_in(tmp_path)


async def test_a_stray_that_the_budget_does_not_cover_is_stopped(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with served(tmp_path) as (_, client):
        bag, machine = await working(client, gate, "0.25")
        await lose(client, tmp_path, bag, machine)
        await client.ask("orphans", do="adopt")
        await eventually(lambda: machine["number"] not in workers_in(tmp_path), 60)
        words = [one["words"] for one in (await client.ask("decisions", bag=bag))["decisions"]]
        assert any("the budget does not cover it" in one for one in words)
        gate.touch()
        assert (await over(client, bag, 60))["spent"] <= money("0.25")


async def test_strays_are_stopped_when_the_user_says_so(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with served(tmp_path) as (_, client):
        bag, machine = await working(client, gate, "1")
        await lose(client, tmp_path, bag, machine)
        (stray,) = (await client.ask("orphans", do="stop"))["orphans"]
        assert stray["done"] == "stopped"
        await eventually(lambda: machine["number"] not in workers_in(tmp_path), 60)
        assert not (await client.ask("orphans"))["orphans"]
        gate.touch()
        assert (await over(client, bag, 60))["done"] == 12


async def test_what_a_killed_master_left_is_found_and_stopped_without_one(
    killable: Make, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    master = killable()
    master.start()
    async with master.client() as client:
        work = sweep(4, f"until [ -e '{gate}' ]; do sleep 0.1; done")
        bag = (await client.ask("submit", sweep=work))["bag"]
        await becomes(client, bag, lambda status: status.get("running", 0) > 0)
    master.kill()
    assert unattended.alive_by_the_books(master.folder) == 1
    (stray,), mute = await unattended.orphans(master.folder, stop=False)
    assert not mute
    assert (stray.lost, stray.done) == ("no master runs", "")
    assert workers_in(tmp_path)
    ((stray,), _) = await unattended.orphans(master.folder, stop=True)
    assert stray.done == "stopped"
    assert not workers_in(tmp_path)
    gate.touch()
    master.start()  # which finds it gone, and goes on with another
    async with master.client() as client:
        assert (await over(client, bag, 60))["done"] == 4


async def test_a_master_that_starts_leaves_alone_what_is_not_in_its_books(tmp_path: Path) -> None:
    """Its store may be a copy; the user's word ends such a machine."""
    from bats.deploy.endpoint import Endpoint
    from bats.deploy.testing import opened

    async with served(tmp_path) as (master, _):
        identity = master.store.master_id
    site = Site(identity, str(tmp_path / "state"), Options().worker_command)
    async with Endpoint() as nobody, opened(PAID, site) as backend:
        ticket = nobody.ticket()
        await backend.start([ticket])
        await nobody.joined(ticket.machine, 60)
    assert len(workers_in(tmp_path)) == 1
    async with served(tmp_path) as (master, client):
        found = (await client.ask("orphans"))["orphans"]
        assert [one["number"] for one in found] == [ticket.machine]
        assert len(workers_in(tmp_path)) == 1
        assert (await client.ask("orphans", do="stop"))["orphans"]
        await eventually(lambda: not workers_in(tmp_path), 60)
