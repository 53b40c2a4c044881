"""Pools of a running master: machines come and go for all bags, within money, also after a kill."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from helpers.service import Make, becomes, eventually, over, sweep
from helpers.workers import end_workers

from bats.common.capacity.pool_rules import Pool, as_common
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.pools import pool_books
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.client import Client, connect
from bats.master.queries.pools.pool_facts import lines
from bats.master.queries.pools.pool_history import replayed_pools
from bats.master.service.master import Master, serving
from bats.master.service.options import Options
from bats.master.store.reader import Reader
from bats.master.web.metrics import metrics

SMALL = Offering(
    ClusterName("small"), money("0.01"), 4.0, 4, boundary_seconds=0.5, lease_seconds=10.0
)
LAB = Pool("lab", (SMALL,), 3, interval_seconds=0.5)


@contextlib.asynccontextmanager
async def a_pool(folder: Path, pool: Pool = LAB) -> AsyncIterator[tuple[Master, Client]]:
    options = Options(
        state=folder, offerings=tuple(map(as_common, pool.kinds)), pools=(pool,), rejoin_seconds=5.0
    )
    try:
        async with serving(options) as master, connect(master.access) as client:
            yield master, client
    finally:
        end_workers(folder)


async def submit(client: Client, tasks: int, command: str = "sleep 0.3", **more: Any) -> int:
    return int((await client.ask("submit", sweep=sweep(tasks, command), **more))["bag"])


def only(master: Master) -> StandingPool:
    (pool,) = master.bags.pools.kept()
    return pool


async def test_two_bags_run_on_a_pool_that_ends_when_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal is summed up again and again, and tells the same."""
    monkeypatch.setattr(pool_books, "_SUMMED_AFTER", 15)
    monkeypatch.setattr(pool_books, "_EVENTS_OF_MACHINE", 1)
    async with a_pool(tmp_path) as (master, client):
        bags = [await submit(client, 10), await submit(client, 10)]
        most = 0
        for bag in bags:
            status = await over(client, bag)
            most = max(most, len(only(master).machines))
            assert (status["state"], status["spent"]) == ("complete", 0)
        assert 1 <= most <= 3
        await eventually(lambda: not only(master).alive())
        only(master).check()
        (told,) = (await client.ask("pools"))["pools"]
        assert told["spent"] == only(master).ledger.settled > 0
        assert max(one["demand"] for one in told["moments"]) > 3
        assert told["why"].startswith("0 tasks to run, ")
        assert (await client.ask("bags"))["pools"] == [told]
        of_all = await client.ask("elasticity of all", since_seconds_ago=60.0)
        assert (of_all["bags"], of_all["most"]) == (2, 3)
        assert of_all["a_o"] > 0
        assert 0 < of_all["mean_supply"] < 3
        assert of_all["hours_charged"] * 3600 == pytest.approx(4 * told["spent"] / money("0.01"))
        shown = metrics(master.snapshot(), {})
        assert 'bats_pool_machines{pool="lab",offering="small",state="working"} 0' in shown
        assert 'bats_pool_demand{pool="lab"} 0' in shown
    with Reader(tmp_path) as reader:
        (again,) = lines(replayed_pools(reader).values())
        (number,) = reader.pools()
        numbers = [at for at, *_ in reader.events(number)]
        assert numbers[0] >= 15
        assert len(numbers) <= 16
    assert again == told


async def test_a_pool_spends_no_more_than_its_limit_of_the_day(tmp_path: Path) -> None:
    """A machine begins with three ATUs reserved, and two that it would enter if it ended late."""
    async with a_pool(tmp_path, replace(LAB, per_day=money("0.06"))) as (master, client):
        bag = await submit(client, 200)
        await eventually(lambda: "the cap of $0.06 a day for pool lab" in only(master).why)
        (cap,) = (await client.ask("caps"))["caps"]
        assert (cap["user"], cap["amount"]) == ("pool lab", money("0.06"))
        assert cap["committed"] <= money("0.06")
        await eventually(lambda: not only(master).alive(), 40.0)
        assert 0 < only(master).committed <= money("0.06")
        status = await client.ask("status", bag=bag)
        assert status["state"] == "running"
        assert 0 < status["done"] < 200
        await client.ask("cancel", bag=bag)


async def test_a_bag_that_pays_for_machines_itself_is_taken_beside_a_pool_with_a_limit(
    tmp_path: Path,
) -> None:
    """The limit of a pool holds no bag, and none is refused for it."""
    async with a_pool(tmp_path, replace(LAB, per_day=money("0.06"))) as (_, client):
        own = replace(SMALL, name=ClusterName("own"))
        bag = await submit(client, 1, "true", offerings=[asdict(own)], budget=money("1"))
        assert (await over(client, bag))["state"] == "complete"


async def test_a_master_that_was_killed_takes_up_its_pool_with_its_machines(
    killable: Make, tmp_path: Path
) -> None:
    pool = asdict(replace(LAB, kinds=(replace(SMALL, atu_seconds=30.0),), most=2))
    master = killable(offerings=[asdict(as_common(SMALL))], pools=[pool], rejoin_seconds=10.0)
    master.start()
    async with master.client() as client:
        bag = await submit(client, 16)
        await becomes(client, bag, lambda s: s.get("done", 0) > 4)
    master.kill()
    await asyncio.sleep(0.5)
    master.start()
    async with master.client() as client:
        status = await over(client, bag)
        assert (status["state"], status["done"]) == ("complete", 16)
    joined = {one["machine"] for one in master.logged("worker is there")}
    assert len(joined) == 2  # no other was started


async def test_a_pool_that_the_file_has_no_more_ends_its_machines(tmp_path: Path) -> None:
    async with a_pool(tmp_path, replace(LAB, least=1)) as (master, _):
        await eventually(lambda: any(one.joined_at for one in only(master).alive()))
    options = Options(state=tmp_path, rejoin_seconds=5.0)
    async with serving(options) as master:
        assert only(master).rules.most == 0
        await eventually(lambda: not only(master).alive())


async def test_a_bag_that_names_a_budget_may_buy_machines_beside_the_pool(tmp_path: Path) -> None:
    bought = replace(SMALL, name=ClusterName("bought"))
    async with a_pool(tmp_path) as (master, client):
        offerings = [asdict(as_common(SMALL)), asdict(bought)]
        alone = await submit(client, 1, offerings=offerings, hold=True)
        both = await submit(client, 1, offerings=offerings, hold=True, budget=money("1"))
        names = {
            bag: [one.name for one in master.bags.known[bag].settings.offerings]
            for bag in (alone, both)
        }
        assert names == {alone: ["small"], both: ["small", "bought"]}
        assert not master.bags.known[alone].settings.replicate
        assert master.bags.known[both].settings.replicate


async def test_a_back_end_that_refuses_is_told_and_asked_again_later(tmp_path: Path) -> None:
    wrong = replace(SMALL, backend="ssh", settings={"hosts": "nowhere.invalid"})
    async with a_pool(tmp_path, replace(LAB, kinds=(wrong,))) as (master, client):
        bag = await submit(client, 3)
        await eventually(lambda: "small cannot be had: " in only(master).why, 40.0)
        assert not only(master).alive()
        assert only(master).committed == 0
        await client.ask("cancel", bag=bag)
