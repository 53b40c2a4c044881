"""Several bags at once under one master: machines of their own, and workers that serve them all."""

from pathlib import Path
from typing import Any

import click
import pytest
from helpers.service import Make, becomes, eventually, over, results, sweep
from helpers.workers import ByHand, workers_in

from bats.common.errors import UsageError
from bats.master.brain.household.sharing import SHARINGS
from bats.master.cli.commands.serving import master as master_command
from bats.master.client import Client
from bats.master.service.master import Master

LAB = [{"name": "lab", "price": 0, "atu_seconds": 3600.0, "max_machines": 2, "slots": 1}]
DESK = [{"name": "desk", "price": 0, "atu_seconds": 3600.0, "max_machines": 0, "backend": "manual"}]


async def submit(client: Client, tasks: int, command: str, **more: Any) -> int:
    told = await client.ask("submit", sweep=sweep(tasks, command, **more), offerings=DESK)
    number: int = told["bag"]
    return number


async def test_bags_run_side_by_side_on_machines_of_one_offering(
    client: Client, master: Master
) -> None:
    bags = [
        (await client.ask("submit", sweep=sweep(3, "sleep 0.5"), offerings=LAB))["bag"]
        for _ in range(2)
    ]
    await eventually(lambda: len(master.snapshot()["workers"]) == 2)
    assert list(master.bags.running) == bags
    first, second = [await over(client, bag) for bag in bags]
    assert first["state"] == second["state"] == "complete"
    assert second["began"] < first["ended"]


async def test_a_worker_started_by_hand_serves_a_short_bag_beside_a_long_one(
    client: Client, master: Master, by_hand: ByHand
) -> None:
    with by_hand(master.home.folder, 2):
        long = await submit(client, 400, "sleep 0.1")
        await becomes(client, long, lambda s: s.get("done", 0) >= 4)
        short = await submit(client, 4, "sleep 0.1; echo {x}")
        assert (await over(client, short))["state"] == "complete"
        assert (await client.ask("status", bag=long))["done"] < 200
        assert {row["cluster"] for row in await results(client, short)} == {"desk"}
        await client.ask("cancel", bag=long)
        await over(client, long)
    master.bags.side_by_side.household.check()


async def test_five_bags_go_on_after_a_kill_and_no_task_runs_twice(
    killable: Make, tmp_path: Path, by_hand: ByHand
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    master = killable(heartbeat_seconds=0.5)
    master.start()
    with by_hand(master.folder, 5):
        async with master.client() as client:
            bags = [
                await submit(client, 12, f"sleep 0.3; mktemp {marks}/{k}-{{x}}.XXXXXX")
                for k in range(5)
            ]
            for bag in bags:
                await becomes(client, bag, lambda s: s.get("done", 0) >= 1)
        master.kill()
        master.start()
        async with master.client() as client:
            for bag in bags:
                status = await over(client, bag)
                assert (status["state"], status["done"]) == ("complete", 12)
    ran = sorted(path.name.partition(".")[0] for path in marks.iterdir())
    assert ran == sorted(f"{k}-{x}" for k in range(5) for x in range(12))


async def test_the_one_free_machine_serves_five_bags_and_after_a_kill_no_task_runs_twice(
    killable: Make, tmp_path: Path
) -> None:
    one = [{**LAB[0], "max_machines": 1, "slots": 5}]
    marks = tmp_path / "marks"
    marks.mkdir()
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        bags = []
        for k in range(5):
            work = sweep(8, f"sleep 0.5; mktemp {marks}/{k}-{{x}}.XXXXXX")
            told = await client.ask("submit", sweep=work, offerings=one, replicate=False)
            bags.append(told["bag"])
        for bag in bags:
            await becomes(client, bag, lambda s: s.get("done", 0) >= 1)
        status = await client.ask("status", bag=bags[0])
        assert status["done"] < 8, "the others began before the first, whose machine it is, ended"
    master.kill()
    master.start()
    async with master.client() as client:
        for bag in bags:
            status = await over(client, bag)
            assert (status["state"], status["done"]) == ("complete", 8)
        await eventually(lambda: not workers_in(tmp_path))
    ran = sorted(path.name.partition(".")[0] for path in marks.iterdir())
    assert ran == sorted(f"{k}-{x}" for k in range(5) for x in range(8))


async def test_a_bag_begins_after_those_that_it_waits_for(client: Client) -> None:
    first = (await client.ask("submit", sweep=sweep(2, "sleep 0.5"), name="first"))["bag"]
    second = (await client.ask("submit", sweep=sweep(2), after=["first"]))["bag"]
    waiting = await client.ask("status", bag=second)
    assert (waiting["state"], waiting["words"]) == ("queued", f"waits for bag {first}")
    after = await over(client, second)
    before = await client.ask("status", bag=first)
    assert before["state"] == after["state"] == "complete"
    assert after["began"] >= before["ended"]


async def test_a_bag_is_paused_and_resumed_by_its_user(client: Client) -> None:
    bag = (await client.ask("submit", sweep=sweep(30, "sleep 0.1")))["bag"]
    await becomes(client, bag, lambda s: s.get("done", 0) >= 2)
    await client.ask("pause", bag=bag, reason="lunch")
    status = await becomes(client, bag, lambda s: s["state"] == "paused")
    assert status["paused"]["reason"] == "lunch"
    assert status["done"] < 30
    with pytest.raises(UsageError, match=f"`bats resume {bag}` goes on"):
        await client.ask("pause", bag=bag)
    await client.ask("resume", bag=bag)
    assert (await over(client, bag))["done"] == 30
    with pytest.raises(UsageError, match=f"bag {bag} has ended"):
        await client.ask("pause", bag=bag)


async def test_a_weight_is_changed_while_bags_run_and_kept_through_a_kill(
    killable: Make, by_hand: ByHand
) -> None:
    master = killable(heartbeat_seconds=0.5)
    master.start()
    with by_hand(master.folder, 4):
        async with master.client() as client:
            one = await submit(client, 300, "sleep 0.1")
            other = await submit(client, 300, "sleep 0.1")
            told = await client.ask("weigh", bag=one, weight=3)
            assert (told["weight"], told["priority"]) == (3, 0)
            with pytest.raises(UsageError, match="from 1 to 1000"):
                await client.ask("weigh", bag=one, weight=0)
        master.kill()
        master.start()
        async with master.client() as client:
            status = await becomes(client, one, lambda s: s.get("done", 0) >= 90)
            less = (await client.ask("status", bag=other))["done"]
            assert status["done"] > 1.5 * less
            for bag in (one, other):
                await client.ask("cancel", bag=bag)
                await over(client, bag)


async def test_a_master_that_shares_by_priority_runs_the_higher_bag_first(
    killable: Make, by_hand: ByHand
) -> None:
    master = killable(heartbeat_seconds=0.5, sharing="priority")
    master.start()
    with by_hand(master.folder, 2):
        async with master.client() as client:
            low = await submit(client, 400, "sleep 0.1")
            await becomes(client, low, lambda s: s.get("done", 0) >= 4)
            high = (await client.ask("submit", sweep=sweep(40, "sleep 0.1"), priority=1))["bag"]
            await becomes(client, high, lambda s: s.get("done", 0) >= 2)
            before = (await client.ask("status", bag=low))["done"]
            await over(client, high)
            meanwhile = (await client.ask("status", bag=low))["done"] - before
            assert meanwhile <= 10  # beside 38 of the higher one
            await client.ask("cancel", bag=low)
            await over(client, low)


async def test_a_placement_is_changed_while_bags_run_and_stays_through_a_kill(
    killable: Make, by_hand: ByHand
) -> None:
    master = killable(heartbeat_seconds=0.5)
    master.start()
    with by_hand(master.folder, 4):
        async with master.client() as client:
            assert (await client.ask("placement"))["placement"] == "random"
            first = await submit(client, 300, "sleep 0.1")
            await becomes(client, first, lambda s: s.get("done", 0) >= 4)
            later = await submit(client, 300, "sleep 0.1")
            await becomes(client, later, lambda s: s.get("done", 0) >= 4)  # they share
            assert (await client.ask("place", placement="bf"))["placement"] == "backfilling"
            with pytest.raises(UsageError, match="only a simulation has"):
                await client.ask("place", placement="owm")
        master.kill()
        master.start()
        async with master.client() as client:
            assert (await client.ask("placement"))["placement"] == "backfilling"
            before = (await client.ask("status", bag=later))["done"]
            done = (await client.ask("status", bag=first))["done"]
            await becomes(client, first, lambda s: s.get("done", 0) >= done + 40)
            assert (await client.ask("status", bag=later))["done"] - before <= 8
            await client.ask("place", placement="random")
            await becomes(client, later, lambda s: s.get("done", 0) >= before + 20)
            for bag in (first, later):
                await client.ask("cancel", bag=bag)
                await over(client, bag)


def test_the_command_line_takes_every_way_of_sharing_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SHARINGS, "mine", SHARINGS["fifo"])
    (option,) = [one for one in master_command.params if one.name == "sharing"]
    context = click.Context(master_command)
    for name in SHARINGS:
        assert option.type_cast_value(context, name) == name
    with pytest.raises(
        click.BadParameter, match="'yours' is not one of fair, fifo, priority, mine"
    ):
        option.type_cast_value(context, "yours")
