"""Caps over all bags of a running master: kept, told, and exact after a kill."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.service import Make, becomes, eventually, over, sweep

from bats.common.errors import BatsError
from bats.common.money import money
from bats.master.client import Client
from bats.master.service.master import Master
from bats.master.store.reader import Reader

CENTS = 10_000_000
RENTED = [{"name": "rented", "price": money("0.01"), "atu_seconds": 6.0, "max_machines": 5,
           "boundary_seconds": 3.0}]  # fmt: skip


async def submit(client: Client, tasks: int, command: str = "sleep 0.2", **more: Any) -> Any:
    return await client.ask(
        "submit", sweep=sweep(tasks, command), offerings=RENTED, rule="fastest", **more
    )


async def only_cap(client: Client) -> Any:
    (cap,) = (await client.ask("caps"))["caps"]
    return cap


async def test_bags_together_spend_no_more_than_a_cap_and_wait_until_it_is_raised(
    client: Client, master: Master
) -> None:
    await client.ask("cap", amount=6 * CENTS)
    bags = [(await submit(client, 200, budget=50 * CENTS))["bag"] for _ in range(2)]
    for bag in bags:
        told = await becomes(client, bag, lambda s: bool(s.get("held_by_cap")))
        assert told["held_by_cap"] == (
            "the cap of $0.06 in all leaves too little for another machine"
        )
    cap = await only_cap(client)
    assert cap["committed"] <= cap["amount"] == 6 * CENTS
    spent = [(await client.ask("status", bag=bag))["spent"] for bag in bags]
    assert sum(spent) == cap["committed"] > 3 * CENTS
    assert master.snapshot()["caps"] == [cap]
    await client.ask("cap", amount=1000 * CENTS)
    for bag in bags:
        assert "done" in await becomes(client, bag, lambda s: not s["held_by_cap"])
        await client.ask("cancel", bag=bag)
        await over(client, bag)


async def test_what_ended_bags_spent_counts_under_a_cap_that_comes_later_also_when_pruned(
    client: Client, master: Master
) -> None:
    bag = (await submit(client, 3, budget=50 * CENTS))["bag"]
    status = await over(client, bag)
    await client.ask("cap", amount=100 * CENTS, period="month", zone="Europe/Berlin")
    assert (await only_cap(client))["committed"] == status["spent"] > 0
    await client.ask("prune", bag=bag)
    await client.ask("cap", amount=90 * CENTS, period="month")
    cap = await only_cap(client)
    assert (cap["committed"], cap["left"]) == (status["spent"], 90 * CENTS - status["spent"])


async def test_what_can_never_begin_is_refused_and_what_begins_later_is_told_when(
    client: Client,
) -> None:
    await client.ask("cap", amount=4 * CENTS // 10, period="day")
    with pytest.raises(BatsError, match=r"The cheapest machine costs \$0\.\d+ at the least, more "
                       r"than the cap of \$0\.004 a day: this bag could never begin"):  # fmt: skip
        await submit(client, 3)
    await client.ask("cap", amount=3 * CENTS, period="day")
    first = await submit(client, 100)
    assert first["waits"] == ""
    bag = first["bag"]
    await becomes(client, bag, lambda s: bool(s.get("held_by_cap")))
    told = await submit(client, 3)
    assert told["waits"].startswith("the cap of $0.03 a day has $0.")
    assert told["waits"].endswith(" 00:00 UTC")
    for bag in (first["bag"], told["bag"]):
        await client.ask("cancel", bag=bag)
        await over(client, bag)


async def test_money_of_another_currency_is_refused_where_caps_stand(client: Client) -> None:
    await client.ask("cap", amount=20 * CENTS)
    with pytest.raises(BatsError, match=r"paid in core-hours: no cap would hold it"):
        await submit(client, 3, currency="core-hours")


async def test_a_cap_is_removed_and_mistakes_are_told(client: Client) -> None:
    await client.ask("cap", amount=20 * CENTS, period="week")
    with pytest.raises(BatsError, match="There is no such cap"):
        await client.ask("uncap", period="day")
    assert (await client.ask("uncap", period="week"))["caps"] == []
    with pytest.raises(BatsError, match=r"knows no time zone 'Mars/Base'"):
        await client.ask("cap", amount=CENTS, zone="Mars/Base")
    with pytest.raises(BatsError, match="one of day, week, month, ever, not 'year'"):
        await client.ask("cap", amount=CENTS, period="year")
    with pytest.raises(BatsError, match="more than nothing"):
        await client.ask("cap", amount=0)


async def test_a_master_starts_again_under_a_cap_for_good_with_bags_that_have_ended(
    killable: Make,
) -> None:
    master = killable()
    master.start()
    async with master.client() as client:
        await client.ask("cap", amount=50 * CENTS)
        bag = (await submit(client, 2, budget=20 * CENTS))["bag"]
        spent = (await over(client, bag))["spent"]
    master.kill()
    master.start()
    async with master.client() as client:
        assert (await only_cap(client))["committed"] == spent > 0


async def test_a_bag_that_stood_still_when_its_cap_was_lifted_goes_on_without(
    client: Client,
) -> None:
    await client.ask("cap", amount=2 * CENTS)
    bag = (await submit(client, 100, budget=50 * CENTS))["bag"]
    await becomes(client, bag, lambda s: bool(s.get("held_by_cap")))
    await client.ask("pause", bag=bag)
    await becomes(client, bag, lambda s: s["state"] == "paused")
    await client.ask("uncap", period="ever")
    await client.ask("resume", bag=bag)
    assert (await over(client, bag))["done"] == 100


async def test_caps_are_exact_after_a_kill_with_five_bags(killable: Make, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    master = killable(notify=f"cat >> {heard}")
    master.start()
    async with master.client() as client:
        await client.ask("cap", amount=8 * CENTS)
        bags = [(await submit(client, 60, budget=50 * CENTS))["bag"] for _ in range(5)]
        for bag in bags[:2]:
            await becomes(client, bag, lambda s: s.get("done", 0) >= 2)
    master.kill()
    master.start()
    async with master.client() as client:
        for bag in bags:
            await becomes(client, bag, lambda s: bool(s.get("held_by_cap")))
        await eventually(lambda: heard.exists() and "nothing more" in heard.read_text())

        async def adds_up() -> bool:
            """What counts under the cap is the price of all machines there were."""
            with Reader(master.folder) as reader:
                cost = sum(row.cost for row in reader.machines())
            return bool(cost == (await only_cap(client))["committed"])

        await eventually(adds_up)
        assert (await only_cap(client))["committed"] == 8 * CENTS
    events = [json.loads(line) for line in heard.read_text().splitlines()]
    assert "$0.08 of the cap of $0.08 in all are spent or reserved; nothing more is bought" in [
        one["words"] for one in events if one["event"] == "cap"
    ]
