"""A bag that is submitted is run by real workers, and all of it can be seen."""

import asyncio
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgpack
import pytest
from helpers.service import becomes, eventually, free, over, results, sweep

from bats.common.errors import UsageError
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import Command, Record
from bats.master.brain.protocol.events import Ending
from bats.master.brain.protocol.journal import event_from, plain
from bats.master.client import Client
from bats.master.queries import output
from bats.master.service.master import Master


async def test_every_task_is_run_once_and_its_output_kept(client: Client) -> None:
    submitted = await client.ask("submit", sweep=sweep(100))
    status = await over(client, submitted["bag"])
    assert (status["state"], status["done"], status["failed"]) == ("complete", 100, 0)
    rows = await results(client, submitted["bag"])
    assert [row["task"] for row in rows] == list(range(100))
    assert all(row["outcome"] == "done" and row["machine"] == 1_000_001 for row in rows)
    log = await client.ask("log", bag=submitted["bag"], task=42)
    assert log["data"] == b"42\n"
    assert Path(log["path"]).read_text() == "42\n"


async def test_a_log_is_not_over_when_a_later_attempt_ends_while_it_is_read(
    master: Master, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = f"until [ -e {tmp_path}/$BATS_ATTEMPT ]; do sleep 0.02; done"
    command = f"echo try $BATS_ATTEMPT; {ends}; test $BATS_ATTEMPT = 2"
    bag = (await client.ask("submit", sweep=sweep(1, command)))["bag"]
    runner = await eventually(lambda: master.bags.loaded.get(bag))
    (tmp_path / "1").touch()
    await eventually(lambda: [one.attempt for one in runner.engine.task(0).running] == [2])
    was_read, may_go_on = threading.Event(), threading.Event()
    at_once = output.output

    def on_a_slow_disk(*question: Any) -> dict[str, Any]:
        found = at_once(*question)
        was_read.set()
        may_go_on.wait(20)
        return found

    monkeypatch.setattr(output, "output", on_a_slow_disk)
    asked = asyncio.ensure_future(client.ask("log", bag=bag, task=0, attempt=1, live=True))
    await eventually(was_read.is_set)
    (tmp_path / "2").touch()
    await eventually(lambda: runner.settled(0))
    may_go_on.set()
    piece = await asked
    assert (piece["data"], piece["over"]) == (b"try 1\n", False)
    piece = await client.ask("log", bag=bag, task=0, live=True)
    assert (piece["data"], piece["over"]) == (b"try 2\n", True)


async def test_a_later_bag_may_bring_the_same_offering_with_other_slots(client: Client) -> None:
    await over(client, (await client.ask("submit", sweep=sweep(1)))["bag"])
    bag = await client.ask(
        "submit", sweep=sweep(20, "sleep 0.1"), offerings=[asdict(free(slots=5))]
    )
    await over(client, bag["bag"])
    rows = await results(client, bag["bag"])
    assert {row["slot"] for row in rows} == set(range(5))


async def test_a_live_runs_journal_replays_to_the_same_commands(
    master: Master, client: Client
) -> None:
    seen = []
    master.bags.around.witness = lambda bag, now, event, commands: seen.append(
        (now, plain(event), list(commands))
    )
    offerings = [paid("slow", 1), paid("fast", 3, speed=3.0)]
    bag = await client.ask(
        "submit", sweep=sweep(60, "sleep 0.02"), offerings=offerings, budget=10**12, retries=0
    )
    await over(client, bag["bag"], 60)
    await master.store.committed()
    with master.store.reader() as reader:
        events = list(reader.events(bag["bag"]))
    assert len(events) == len(seen) > 20
    engine = Engine(master.bags.loaded[bag["bag"]].bag.settings)
    for (_, now, written), (then, _, commands) in zip(events, seen, strict=True):
        assert now == then
        again = engine.handle(event_from(msgpack.unpackb(written), bag["bag"]), now)
        assert again == list(map(as_journalled, commands))
        engine.check()
    assert engine.over


def as_journalled(command: Command) -> Command:
    """A journal tells the brain's share of a result, and no more."""
    if not isinstance(command, Record):
        return command
    share = (Ending(e.task, e.attempt, e.outcome, e.seconds, e.why) for e in command.endings)
    return replace(command, endings=tuple(share))


def paid(name: str, price: int, *, speed: float = 1.0, machines: int = 2) -> dict[str, object]:
    return {
        "name": name,
        "price": price * 10**9,
        "atu_seconds": 60.0,
        "max_machines": machines,
        "boundary_seconds": 1.0,
        "backend": "local",
        "settings": {"speed": speed},
    }


async def test_a_bag_with_a_budget_costs_what_its_machines_cost(client: Client) -> None:
    submitted = await client.ask(
        "submit",
        sweep=sweep(80, "sleep 0.01"),
        offerings=[paid("slow", 1), paid("fast", 2)],
        rule="cheapest",
        budget=20 * 10**9,
    )
    status = await over(client, submitted["bag"], 60)
    assert status["state"] == "complete"
    assert 0 < status["spent"] <= 20 * 10**9
    machines = (await client.ask("machines", bag=submitted["bag"]))["machines"]
    assert sum(machine["cost"] for machine in machines) == status["spent"]
    shares = [row["cost_share"] for row in await results(client, submitted["bag"])]
    assert all(share > 0 for share in shares)
    assert sum(shares) <= status["spent"], "what tried in vain has its share too"
    assert sum(shares) == pytest.approx(status["spent"], rel=0.5)
    assert all(machine["charged_since"] < machine["gone"] for machine in machines)


async def test_a_failed_task_is_tried_again_then_given_up_and_may_be_retried(
    client: Client, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    command = f"echo trying >&2; test {{x}} != 3 || test -e {gate}"
    bag = (await client.ask("submit", sweep=sweep(6, command, retries=2)))["bag"]
    status = await over(client, bag)
    assert (status["state"], status["done"], status["failed"]) == ("with failures", 5, 1)
    story = await client.ask("task", bag=bag, task=3)
    assert [one["outcome"] for one in story["attempts"]] == ["failed"] * 3
    assert "trying" in story["attempts"][-1]["excerpt"]
    gate.touch()
    assert (await client.ask("retry", bag=bag))["tasks"] == 1
    status = await becomes(client, bag, lambda s: s["over"] and s["state"] == "complete")
    assert status["done"] == 6
    rows = await results(client, bag)
    assert [row["outcome"] for row in rows] == ["done"] * 6


async def test_a_retry_that_no_money_is_left_for_holds_up_no_other_bag(client: Client) -> None:
    offering = {
        "name": "dear",
        "price": 10**9,
        "atu_seconds": 60.0,
        "max_machines": 1,
        "boundary_seconds": 1.0,
        "backend": "local",
    }
    work = sweep(4, "test {x} != 3", retries=0)
    bag = (await client.ask("submit", sweep=work, offerings=[offering], budget=10**9))["bag"]
    assert (await over(client, bag))["failed"] == 1
    await client.ask("retry", bag=bag)
    status = await becomes(client, bag, lambda s: s["over"] and s["state"] != "with failures")
    assert status["state"] == "out of budget"
    following = (await client.ask("submit", sweep=sweep(2)))["bag"]
    assert (await over(client, following))["state"] == "complete"


async def test_a_cancelled_bag_stops_its_tasks_and_its_machines(client: Client) -> None:
    bag = (await client.ask("submit", sweep=sweep(4, "sleep 600")))["bag"]
    await becomes(client, bag, lambda status: status.get("running", 0) >= 2)
    await client.ask("cancel", bag=bag, reason="changed my mind")
    status = await over(client, bag)
    assert status["state"] == "cancelled"
    assert "changed my mind" in status["words"]
    assert status["machines"] == []


async def test_a_bag_cancelled_at_once_ends_before_its_machines_are_there(client: Client) -> None:
    for _ in range(4):
        bag = (await client.ask("submit", sweep=sweep(4, "sleep 600")))["bag"]
        await client.ask("cancel", bag=bag)
        assert (await over(client, bag))["state"] == "cancelled"


async def test_a_held_bag_waits_for_its_release(client: Client) -> None:
    held = await client.ask("submit", sweep=sweep(2), hold=True)
    assert held["state"] == "held"
    other = (await client.ask("submit", sweep=sweep(2)))["bag"]
    await over(client, other)
    assert (await client.ask("status", bag=held["bag"]))["state"] == "held"
    await client.ask("release", bag=held["bag"])
    assert (await over(client, held["bag"]))["state"] == "complete"


async def test_what_is_wrong_with_a_request_is_said_in_a_sentence(client: Client) -> None:
    with pytest.raises(UsageError, match="`budget` should be an amount"):
        await client.ask("submit", sweep=sweep(2), budget=-1)
    with pytest.raises(UsageError, match="no key of a submission"):
        await client.ask("submit", sweep=sweep(2), bugdet=1)
    with pytest.raises(UsageError, match="There is no bag"):
        await client.ask("status", bag="nonsense")
    with pytest.raises(UsageError, match="can be asked for"):
        await client.ask("explode")
    offering = {**paid("far", 1), "backend": "moon"}
    with pytest.raises(UsageError, match="no back end `moon`"):
        await client.ask("submit", sweep=sweep(2), offerings=[offering])


async def test_an_offering_that_cannot_start_is_set_aside_with_its_reason(client: Client) -> None:
    broken = {**paid("broken", 1), "settings": {"speed": 0.0}}
    bag = (await client.ask("submit", sweep=sweep(2), offerings=[broken]))["bag"]
    status = await over(client, bag)
    assert status["state"] == "no machines"
    assert "speed" in status["words"]


async def test_a_bag_can_be_exported_and_pruned(client: Client) -> None:
    bag = (await client.ask("submit", sweep=sweep(50)))["bag"]
    await over(client, bag)
    text = "".join([part["text"] async for part in client.stream("export", bag=bag, format="csv")])
    assert len(text.splitlines()) == 51
    with pytest.raises(UsageError, match="`format`"):
        await client.ask("export", bag=bag, format="xml")
    await client.ask("prune", bag=bag)
    with pytest.raises(UsageError, match="no bag"):
        await client.ask("status", bag=bag)


async def test_a_wait_returns_as_soon_as_there_is_news(client: Client) -> None:
    bag = (await client.ask("submit", sweep=sweep(1, "sleep 0.2")))["bag"]
    loop = asyncio.get_running_loop()
    began = loop.time()
    status = {"over": False, "seen": 0}
    while not status["over"]:
        status = await client.ask("wait", bag=bag, seconds=60, seen=status["seen"])
    assert loop.time() - began < 20


async def test_the_snapshot_tells_of_workers_and_refusals(master: Master, client: Client) -> None:
    bag = (await client.ask("submit", sweep=sweep(2, "sleep 0.5")))["bag"]
    await eventually(lambda: master.snapshot()["workers"])
    snapshot = await client.ask("snapshot")
    assert snapshot["running_bags"] == [bag]
    assert snapshot["workers"][0]["slots"] == 2
    await over(client, bag)


async def test_offered_schedules_say_what_they_may_come_to(client: Client) -> None:
    offerings = [paid("slow", 1), paid("fast", 3, speed=3.0)]
    submitted = await client.ask(
        "submit", sweep=sweep(2000, "sleep 0.4"), offerings=offerings, rule="ask"
    )
    bag = submitted["bag"]
    await becomes(client, bag, lambda status: status["phase"] == "choosing")
    told = await client.ask("schedules", bag=bag)
    prices = [schedule["cost"] for schedule in told["schedules"]]
    times = [schedule["makespan_seconds"] for schedule in told["schedules"]]
    assert prices == sorted(prices)
    assert times == sorted(times, reverse=True), "a dearer one is faster, or is not shown"
    for schedule in told["schedules"]:
        bounds = schedule["bounds"]
        assert bounds["makespan_seconds"] >= bounds["median_seconds"] > 0
        assert 0 <= bounds["chance_in_budget"] <= 1
    await client.ask("cancel", bag=bag)
