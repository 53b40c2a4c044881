"""Paid time that one bag has no use for runs tasks of another, under a living master."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from helpers.service import Make, becomes, eventually, over, results, sweep
from helpers.workers import end_workers

from bats.common.messages import BagId
from bats.master.brain.protocol.numbering import bag_of
from bats.master.client import Client
from bats.master.report.account import account
from bats.master.report.page import html
from bats.master.service.master import Master
from bats.master.service.wire.admission import Role
from bats.master.store.reader import Reader

PRICE = 10**7  # of 90 s
RENTED = [
    {
        "name": "rented",
        "price": PRICE,
        "atu_seconds": 90.0,
        "max_machines": 2,
        "slots": 1,
        "boundary_seconds": 1.0,
    }
]


async def submit(client: Client, tasks: int, command: str) -> int:
    told = await client.ask(
        "submit", sweep=sweep(tasks, command), offerings=RENTED, budget=PRICE, rule="fastest"
    )
    number: int = told["bag"]
    return number


async def lent_ones_at_work(client: Client, owner: int, *, to: int) -> bool:
    """True while the overview, which tells each machine once, has a task on the one lent."""
    machines = (await client.ask("bags"))["machines"]
    assert sum(one["machines"] for one in machines) <= 2
    (lent,) = [one for one in machines if one["bag"] == owner]
    at_work = (lent["running"], lent["slots"]) == (1, 1)
    return at_work and lent["shares"] == [{"bag": to, "slots": 1}]


async def test_a_bag_that_has_ended_leaves_its_paid_time_to_another(
    client: Client, master: Master
) -> None:
    long = await submit(client, 60, "sleep 0.3")
    await becomes(client, long, lambda s: s.get("done", 0) >= 1)
    short = await submit(client, 4, "sleep 0.2")
    ended = await over(client, short)
    assert (ended["state"], ended["spent"]) == ("complete", PRICE)
    assert (await client.ask("status", bag=long))["done"] < 55
    async with asyncio.timeout(5):
        while not await lent_ones_at_work(client, short, to=long):
            pass
    status = await over(client, long)
    assert (status["state"], status["done"]) == ("complete", 60)
    owners = [bag_of(row["machine"]) for row in await results(client, long)]
    assert owners.count(short) > 10
    assert status["spent"] == PRICE
    borrowed = (await client.ask("machines", bag=long))["borrowed"]
    assert [(one["paid_by"], one["used_by"]) for one in borrowed] == [(short, long)]
    assert borrowed[0]["tasks"] == owners.count(short)
    assert (await client.ask("machines", bag=short))["lent"] == borrowed
    with Reader(master.home.folder) as reader:
        said = f"on machines paid by bag {short}, at no charge"
        page = html(account(reader, BagId(long)))
    assert said in page
    assert "Of 2 rented other bags left it" in page
    await eventually(lambda: not master.snapshot()["workers"])
    master.bags.side_by_side.household.check()


async def test_what_a_lent_machine_kept_when_it_ended_counts_for_the_bag_that_had_borrowed_it(
    client: Client, master: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = await submit(client, 60, f"mktemp {tmp_path}/ran.{{x}}.XXXX; sleep 0.3")
    await becomes(client, long, lambda s: s.get("done", 0) >= 1)
    short = await submit(client, 4, "sleep 0.2")
    await over(client, short)
    async with asyncio.timeout(5):
        while not await lent_ones_at_work(client, short, to=long):
            pass
    hear = master.inbox._hear_one
    monkeypatch.setattr(  # workers are not heard any more
        master.inbox,
        "_hear_one",
        lambda heard, peer: peer.role is not Role.CLIENT or hear(heard, peer),
    )
    await asyncio.sleep(1.0)
    ran = sorted(int(path.name.split(".")[1]) for path in tmp_path.glob("ran.*"))
    end_workers(tmp_path)
    rows: list[Any] = []
    async with asyncio.timeout(10):
        while [row["task"] for row in rows] != ran:
            rows = sorted(await results(client, long), key=lambda row: row["task"])
    assert short in {bag_of(row["machine"]) for row in rows}


async def test_what_is_lent_outlives_a_kill_of_the_master(killable: Make, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        long = await submit(client, 60, f"sleep 0.4; mktemp {marks}/{{x}}.XXXXXX")
        await becomes(client, long, lambda s: s.get("done", 0) >= 1)
        short = await submit(client, 3, "sleep 0.1")
        await over(client, short)
        before = (await client.ask("status", bag=long))["done"]
        await becomes(client, long, lambda s: s["done"] >= before + 5)
    master.kill()
    master.start()
    async with master.client() as client:
        status = await over(client, long)
        assert (status["state"], status["done"]) == ("complete", 60)
        owners = [bag_of(row["machine"]) for row in await results(client, long)]
        assert short in owners
        assert {(await client.ask("status", bag=bag))["spent"] for bag in (short, long)} == {PRICE}
    ran = sorted(path.name.partition(".")[0] for path in marks.iterdir())
    assert len(ran) == len(set(ran)) == 60
