"""A broken sweep is paused before it costs much, holds no machine, and goes on when mended."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from helpers.service import Make, becomes, free, over, results, sweep

from bats.common.errors import UsageError
from bats.common.messages import BagId, Outcome, Result, TaskId
from bats.common.money import money
from bats.common.offering import Offering
from bats.master.bag import ways_out
from bats.master.client import Client, PausedError
from bats.master.service.master import Master
from bats.master.service.telling.explanations import why
from bats.master.web.metrics import metrics

Facts = dict[str, Any]

MENDED = "if ! test -e {gate}; then echo No such file: {gate}.py >&2; exit 2; fi"


def paid(name: str = "rented", price: str = "0.02", machines: int = 2) -> Facts:
    return asdict(Offering(name, money(price), 3.0, machines, 1, 0.0, 1.0))


def parked(status: Facts) -> bool:
    return bool(status["state"] == "paused")


async def submit(client: Client, gate: Path, count: int = 40, **more: Any) -> int:
    more.setdefault("term_seconds", 3)
    work = sweep(count, MENDED.format(gate=gate) + "; echo {x}", retries=more.pop("retries", 1))
    return int((await client.ask("submit", sweep=work, **more))["bag"])


async def test_a_broken_sweep_is_paused_costs_nothing_more_and_completes_once_mended(
    client: Client, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    kinds = [paid(), paid("dear", "0.05")]
    bag = await submit(client, gate, offerings=kinds, budget=money("5"), retries=0)
    status = await becomes(client, bag, lambda s: bool(s.get("paused")))
    reason = f"the first 12 tasks all failed alike: exit code 2, 'No such file: {gate}.py'"
    assert status["paused"]["reason"] == reason
    assert f"`bats resume {bag}` goes on and tries them again" in status["paused"]["ways"]
    status = await becomes(client, bag, parked)
    assert not status["over"]
    assert (status["done"], status["reserved"], status["machines"]) == (0, 0, [])
    assert status["failed"] <= 16, "the dozen, and what ran on"
    assert 0 < status["spent"] <= 4 * 2 * money("0.05")
    await asyncio.sleep(4)  # longer than an ATU
    assert (await client.ask("status", bag=bag))["spent"] == status["spent"]
    (told,) = [
        one["words"]
        for one in (await client.ask("decisions", bag=bag))["decisions"]
        if one["words"].startswith("paused")
    ]
    assert told == f"paused: {reason}. {status['paused']['ways']}"
    gate.touch()
    await client.ask("resume", bag=bag)
    status = await over(client, bag)
    assert (status["state"], status["done"], status["failed"]) == ("complete", 40, 0)
    assert status["paused"] is None
    rows = await results(client, bag)
    assert [(row["task"], row["outcome"]) for row in rows] == [(k, "done") for k in range(40)]


async def test_the_dozen_that_paused_it_is_counted_and_to_resume_twice_is_to_resume(
    client: Client, tmp_path: Path
) -> None:
    bag = await submit(client, tmp_path / "gate")
    status = await becomes(client, bag, parked)
    (line,) = (await client.ask("bags"))["bags"]
    for told in (status, line):
        assert told["failed"] + told["failing"] >= 12, "as many as its words say have failed"
    both = await asyncio.gather(*(client.ask("resume", bag=bag) for _ in range(2)))
    assert [one["bag"] for one in both] == [bag, bag]


async def test_a_bag_that_waits_for_others_is_told_for_which(
    client: Client, tmp_path: Path
) -> None:
    first = await submit(client, tmp_path / "gate")
    later = await submit(client, tmp_path / "gate", after=[first])
    with pytest.raises(UsageError, match=f"not begun: it waits for bag {first}; there is nothing"):
        await client.ask("resume", bag=later)


async def test_a_paused_bag_leaves_its_machines_to_others_and_goes_on_beside_them(
    client: Client, master: Master, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    first = await submit(client, gate)
    second = (await client.ask("submit", sweep=sweep(60, "sleep 0.1; echo {x}")))["bag"]
    await becomes(client, first, parked)
    snapshot = master.snapshot()
    assert snapshot["paused_bags"] == [first]
    assert "bats_bags_paused 1" in metrics(snapshot, {})
    await becomes(client, second, lambda s: s.get("done", 0) >= 1)
    (row, _) = (await client.ask("bags"))["bags"]
    assert row["paused"]["reason"].startswith("the first 12 tasks")
    gate.touch()
    await client.ask("resume", bag=first)
    assert (await over(client, second))["state"] == "complete"
    status = await over(client, first)
    assert (status["state"], status["done"]) == ("complete", 40)


async def test_a_bag_that_was_paused_when_its_master_was_killed_is_so_afterwards(
    killable: Make, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    master = killable()
    master.start()
    async with master.client() as client:
        bag = await submit(client, gate, offerings=[paid()], budget=money("5"))
        before = (await becomes(client, bag, lambda s: bool(s.get("paused"))))["paused"]
        await client.ask("decisions", bag=bag)  # what is read from the store is durable
    master.kill()
    master.start()
    async with master.client() as client:
        assert (await client.ask("status", bag=bag))["paused"] == before
        before = await becomes(client, bag, parked)
    master.kill()
    master.start()
    async with master.client() as client:
        status = await client.ask("status", bag=bag)
        same = ("state", "paused", "done", "failed", "waiting", "spent", "over")
        assert {key: status[key] for key in same} == {key: before[key] for key in same}
        gate.touch()
        await client.ask("resume", bag=bag)
        status = await over(client, bag)
        assert (status["state"], status["done"]) == ("complete", 40)


async def test_only_a_bag_that_stands_still_can_be_resumed_and_others_are_told_what_to_do(
    client: Client, tmp_path: Path
) -> None:
    done = (await client.ask("submit", sweep=sweep(1)))["bag"]
    await over(client, done)
    with pytest.raises(UsageError, match=f"Bag {done} has ended: complete; all is done"):
        await client.ask("resume", bag=done)
    running = (await client.ask("submit", sweep=sweep(1, "sleep 60")))["bag"]
    await becomes(client, running, lambda s: s.get("running") == 1)
    with pytest.raises(UsageError, match=f"Bag {running} is not paused; it is executing"):
        await client.ask("resume", bag=running)
    waiting = await submit(client, tmp_path / "gate", retries=9)
    await client.ask("cancel", bag=running)
    await becomes(client, waiting, parked)
    with pytest.raises(UsageError, match=f"`bats resume {waiting}` goes on with it"):
        await client.ask("retry", bag=waiting)


async def test_a_cancelled_bag_is_resumed_and_what_failed_is_left_to_be_retried(
    client: Client, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    waits = f"until test -e {gate}; do sleep 0.1; done"
    command = f"test {{x}} != 0 || exit 3; test {{x}} != 2 || {waits}"
    bag = (await client.ask("submit", sweep=sweep(6, command, retries=0)))["bag"]
    await becomes(client, bag, lambda s: s.get("done") == 4 and s.get("failed") == 1)
    await client.ask("cancel", bag=bag)
    assert (await over(client, bag))["state"] == "cancelled"
    gate.touch()
    await client.ask("resume", bag=bag)
    status = await becomes(client, bag, lambda s: s["over"] and s["state"] != "cancelled")
    assert (status["state"], status["done"], status["failed"]) == ("with failures", 5, 1)
    with pytest.raises(UsageError, match=f"`bats retry {bag}` tries again what failed"):
        await client.ask("resume", bag=bag)
    assert (await client.ask("retry", bag=bag))["tasks"] == 1


async def test_a_paused_bag_is_cancelled_at_once_though_another_one_runs(
    client: Client, tmp_path: Path
) -> None:
    first = await submit(client, tmp_path / "gate")
    await becomes(client, first, parked)
    second = (await client.ask("submit", sweep=sweep(1, "sleep 60")))["bag"]
    await becomes(client, second, lambda s: s.get("running") == 1)
    await client.ask("cancel", bag=first)
    status = await over(client, first, 5)
    assert (status["state"], status["paused"]) == ("cancelled", None)
    assert (await client.ask("status", bag=second))["running"] == 1


async def test_a_limit_on_failures_pauses_and_to_retry_goes_on_with_all(
    client: Client, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    bag = await submit(client, gate, max_failures=5, retries=0, offerings=[asdict(free(1))])
    status = await becomes(client, bag, parked)
    assert status["paused"]["reason"].startswith("5 tasks have failed (max_failures = 5), the last")
    assert f"`bats retry {bag}` also tries again" in status["paused"]["ways"]
    gate.touch()
    assert (await client.ask("retry", bag=bag))["tasks"] == 5
    status = await over(client, bag)
    assert (status["state"], status["done"]) == ("complete", 40)


async def test_who_waits_for_the_results_of_a_paused_bag_is_told(
    client: Client, tmp_path: Path
) -> None:
    number = await submit(client, tmp_path / "gate")
    bag = await client.bag(number)
    assert (await bag.wait())["paused"]
    with pytest.raises(PausedError, match=rf"Bag {number} is paused: the first 12 .*bats resume"):
        _ = [one async for one in bag.results()]
    (tmp_path / "gate").touch()
    await bag.resume()
    assert (await bag.wait())["state"] == "complete"


def failed(said: str, code: int = 1, outcome: Outcome = Outcome.FAILED) -> Result:
    return Result(BagId(1), TaskId(0), 1, outcome, code, 1.0, 0.0, 0.0, 0, 0, said, 0)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (
            failed("a line\n\nNo such file: mising.py\n", 2),
            "exit code 2, 'No such file: mising.py'",
        ),
        (failed("", 1), "exit code 1 without a word"),
        (failed("", -11), "ended by signal 11 without a word"),
        (failed("x", 0, Outcome.TIMED_OUT), "ran longer than its time limit, 'x'"),
        (failed("sim: no", 0, Outcome.NOT_STARTED), "could not be started, 'sim: no'"),
        (failed("cannot open /data/wheat.csv"), "exit code 1, 'cannot open /data/{crop}.csv'"),
        (failed("buckwheat and 0.25 in field 7"), "exit code 1, 'buckwheat and 0.25 in field 7'"),
        (failed("x", 0, Outcome.DONE), ""),
        (failed("x", 0, Outcome.KILLED), ""),
    ],
)
def test_why_a_task_failed_is_told_in_its_own_words(result: Result, told: str) -> None:
    parameters = {"crop": "wheat", "field": "7", "water": "0.25", "kind": "a"}
    assert why(result, parameters) == told


@pytest.mark.parametrize(
    ("task", "again", "said"),
    [
        (TaskId(7), True, ("`bats resume 3` goes on and tries them again, `bats cancel 3` ends it, "
         "`bats explain 3 7` shows one.")),
        (TaskId(7), False, ("`bats resume 3` goes on, `bats retry 3` also tries again what failed, "
         "`bats cancel 3` ends it, `bats explain 3 7` shows one.")),
        (None, False, "`bats resume 3` goes on, `bats cancel 3` ends it."),
    ],
)  # fmt: skip
def test_what_its_user_may_do_is_told_with_what_to_type(
    task: TaskId | None, again: bool, said: str
) -> None:
    assert ways_out(BagId(3), task, again=again) == f"Nothing more is bought. {said}"
