"""A bag of an earlier release goes on under this one's master; nothing recorded is run again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import pytest
from helpers.releases import Frozen, frozen
from helpers.service import KillableMaster, becomes, over

from bats.common.messages import BagId, Result, TaskId
from bats.master.brain.protocol.events import Ended
from bats.master.brain.protocol.journal import event_from
from bats.master.store.reader import Reader

BAG = BagId(1)
OTHERWISE = {"initial_workers": 1, "seed": 7}  # an engine that decides so asks for other machines


class Books(NamedTuple):
    results: dict[TaskId, Result]
    attempts: list[Result]
    events: int


def books(state: Path) -> Books:
    with Reader(state) as reader:
        results = {row.task: row for row in reader.every_task(BAG)}
        return Books(results, list(reader.every_attempt(BAG)), len(list(reader.events(BAG))))


def ended_since(state: Path, events: int) -> set[TaskId]:
    """Tasks of which an attempt has ended since, however it did."""
    with Reader(state) as reader:
        written = [msgpack.unpackb(event) for *_, event in reader.events(BAG, events)]
    heard = [event_from(one, BAG) for one in written]
    return {e.task for event in heard if isinstance(event, Ended) for e in event.endings}


@pytest.mark.parametrize("otherwise", [{}, OTHERWISE], ids=["as then", "decided otherwise"])
@pytest.mark.parametrize("bag", frozen("running"), ids=str)
async def test_a_bag_that_ran_is_finished(
    bag: Frozen,
    otherwise: dict[str, Any],
    tmp_path: Path,
    killable: Callable[..., KillableMaster],
) -> None:
    state = bag.restore(tmp_path / "state", **otherwise)
    before = books(state)
    assert 60 <= len(before.results) < 160
    master = killable()
    master.start()
    async with master.client() as client:
        await becomes(client, BAG, lambda status: status["done"] > len(before.results) + 10)
        spent = (await client.ask("status", bag=BAG))["spent"]
    master.kill()
    master.start()  # what it wrote itself it reads, too
    async with master.client() as client:
        status = await over(client, BAG)
        machines = (await client.ask("machines", bag=BAG))["machines"]
    after = books(state)
    assert status["done"] + status["failed"] == len(after.results) == 160
    assert {task: after.results[task] for task in before.results} == before.results
    assert not ended_since(state, before.events) & before.results.keys()
    assert spent <= status["spent"] == sum(one["cost"] for one in machines) <= status["budget"]
    if otherwise:
        assert master.logged("decided otherwise")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"tail": "perfect"}, "perfect` knows how long every task will take, which only a sim"),
        ({"planner": "mine"}, "No planner is called `mine` here: `knapsack` decides."),
    ],
)
@pytest.mark.parametrize("bag", frozen("running"), ids=str)
async def test_who_cannot_decide_here_is_told_and_the_usual_one_decides(
    bag: Frozen,
    settings: dict[str, Any],
    says: str,
    tmp_path: Path,
    killable: Callable[..., KillableMaster],
) -> None:
    """0.1.0 took `perfect`, and broke in the tail; a policy of one's own may be gone."""
    bag.restore(tmp_path / "state", **settings)
    master = killable()
    master.start()
    async with master.client() as client:
        status = await over(client, BAG)
        decisions = (await client.ask("decisions", bag=BAG))["decisions"]
    assert status["done"] + status["failed"] == 160
    assert any(says in one["words"] for one in decisions)


@pytest.mark.parametrize("bag", frozen("cancelled", "ended"), ids=str)
async def test_a_bag_that_had_ended_can_be_looked_into_and_gone_on_with(
    bag: Frozen, tmp_path: Path, killable: Callable[..., KillableMaster]
) -> None:
    state = bag.restore(tmp_path / "state", **OTHERWISE)
    before = books(state)
    again = [TaskId(task) for task in range(20, 160) if task not in before.results][:6]
    master = killable()
    master.start()
    async with master.client() as client:
        told = await client.ask("explain", bag=BAG)
        assert told["over"]
        assert told["done"] == len(before.results)
        if again:
            await client.ask("retry", bag=BAG, tasks=again)
            status = await becomes(client, BAG, lambda s: s["over"] and s["state"] != "queued")
            assert status["done"] == len(before.results) + len(again)
    assert ended_since(state, before.events) == set(again)
