"""All bags at a look: what is told beside the list of bags, and how the command line shows it."""

import asyncio
from pathlib import Path

from helpers.service import eventually, over, paid, sweep
from helpers.user import User
from helpers.workers import ByHand

from bats.common.money import money
from bats.master.cli.display.overview import overview
from bats.master.client import Client
from bats.master.service.master import Master
from bats.master.web.metrics import metrics

DESK = [{"name": "desk", "price": 0, "atu_seconds": 3600.0, "max_machines": 0, "backend": "manual"}]


async def test_machines_are_told_by_who_pays_and_common_ones_by_who_has_their_slots(
    master: Master, client: Client, by_hand: ByHand
) -> None:
    await client.ask("cap", amount=money("5"), period="day")
    with by_hand(master.home.folder, 4):
        pays = (
            await client.ask(
                "submit", sweep=sweep(200, "sleep .2"), offerings=[paid("slow", 1)],
                budget=10**10, rule="fastest",
            )
        )["bag"]  # fmt: skip
        shares = [
            (await client.ask("submit", sweep=sweep(400, "sleep .2"), offerings=DESK))["bag"]
            for _ in range(2)
        ]
        await eventually(lambda: len(master.bags.running) == 3)
        halves = [{"bag": bag, "slots": 2} for bag in shares]
        async with asyncio.timeout(30):
            told = await client.ask("bags")
            while [(one["machines"], one["shares"]) for one in told["machines"]] != [
                (1, []),
                (1, halves),
            ]:
                told = await client.ask("bags")
        own, common = told["machines"]
        assert (own["bag"], own["offering"], own["machines"]) == (pays, "slow", 1)
        assert (common["bag"], common["offering"], common["slots"]) == (None, "started by hand", 4)
        line = told["bags"][0]
        assert (line["limit"], line["machines"], line["slots"]) == (10**10, 1, 0)
        assert told["caps"][0]["amount"] == money("5")
        said = overview(told)  # type: ignore[arg-type]
        assert f"bag {shares[0]} has 2 slots, bag {shares[1]} has 2 slots" in said
        assert "of $10.00" in said
        measured = metrics(master.snapshot(), {})
        assert f'bats_shared_slots{{bag="{shares[0]}"}} 2' in measured
        for bag in (pays, *shares):
            await client.ask("cancel", bag=bag)
            await over(client, bag)
    assert (await client.ask("bags"))["machines"] == []


def test_whoever_watches_all_bags_is_told_of_each_until_none_runs(tmp_path: Path) -> None:
    user = User(tmp_path)
    with user.master():
        for name in ("one", "two"):
            user.bats("submit", "--name", name, "-p", "x=1:24", "--", "sleep", ".5")
        told = user.bats("watch", "--all").stdout
        for bag, name in ((1, "one"), (2, "two")):
            assert f"bag {bag} ({name}): complete, 24 of 24 tasks done" in told
        bags = user.facts("status")["bags"]
        assert [one["state"] for one in bags] == ["complete", "complete"]
