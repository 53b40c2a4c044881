"""Tasks are added to a bag while it runs: durable before it is said, none lost, none twice."""

import asyncio
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from helpers.service import KillableMaster, Make, becomes, over, results

from bats.common.errors import BatsError, UsageError
from bats.common.messages import BagId
from bats.master.bag import read_bag
from bats.master.client import Bag, Client, sweep
from bats.master.service.master import Master
from bats.master.store.prune import prune
from bats.master.store.reader import Reader
from bats.master.store.repair.salvage import salvage
from bats.master.store.repair.soundness import inspect
from bats.master.store.writing.writer import Batch


def numbers(first: int, count: int) -> list[dict[str, Any]]:
    return [{"x": x} for x in range(first, first + count)]


async def opened(client: Client, command: str = "echo {x}", **more: Any) -> Bag:
    return await client.submit(sweep(command=command, to_be_open=True), **more)


async def test_tasks_run_as_they_come_and_the_bag_ends_when_it_is_closed(client: Client) -> None:
    bag = await opened(client)
    status = await becomes(client, bag.number, lambda s: s["state"] == "running")
    assert (status["open"], status["total"], status["parameters"]) == (True, 0, ["x"])
    for first, count in ((0, 3), (3, 1), (4, 40)):
        added = await bag.add(numbers(first, count))
        assert (added["first"], added["tasks"], added["total"]) == (first, count, first + count)
        status = await becomes(client, bag.number, lambda s, n=first + count: s["done"] == n)
        assert not status["over"]
    await bag.close()
    status = await over(client, bag.number)
    assert (status["state"], status["done"], status["open"]) == ("complete", 44, False)
    rows = await results(client, bag.number)
    assert [(row["task"], row["parameters"]["x"]) for row in rows] == [
        (k, str(k)) for k in range(44)
    ]


async def test_what_is_added_before_it_begins_is_there_when_it_does(client: Client) -> None:
    bag = await opened(client, hold=True)
    for first in (0, 5):
        await bag.add(numbers(first, 5))
    await bag.close()
    assert (await bag.status())["total"] == 10
    await client.ask("release", bag=bag.number)
    assert (await over(client, bag.number))["done"] == 10


async def test_the_same_key_adds_once_also_when_the_bag_has_ended(client: Client) -> None:
    bag = await opened(client)
    first = await bag.add(numbers(0, 3), key="monday")
    again = await bag.add(numbers(0, 3), key="monday")
    assert (again["first"], again["total"], again["again"]) == (first["first"], 3, True)
    with pytest.raises(UsageError, match="With the key 'monday' bag 1 was given 3 tasks before"):
        await bag.add(numbers(0, 4), key="monday")
    await bag.close()
    assert (await over(client, bag.number))["done"] == 3
    assert (await bag.add(numbers(0, 3), key="monday"))["again"]


async def test_who_cannot_add_is_told_why(client: Client) -> None:
    bag = await opened(client)
    with pytest.raises(UsageError, match="Each task of this bag needs values for x; given are "):
        await bag.add([{"y": 1}])
    await bag.close()
    with pytest.raises(UsageError, match=r"has ended: complete|was closed"):
        await bag.add(numbers(0, 1))
    await over(client, bag.number)
    with pytest.raises(UsageError, match="Bag 1 has ended: complete; it takes no more tasks"):
        await bag.add(numbers(0, 1))
    whole = await client.submit(sweep(command="echo {x}", grid={"x": "1:2"}))
    with pytest.raises(UsageError, match="Bag 2 has all its tasks from the beginning; tasks are "):
        await whole.add(numbers(0, 1))
    with pytest.raises(UsageError, match="Bag 2 has all its tasks from the beginning"):
        await whole.close()


async def test_a_paused_bag_takes_tasks_and_begins_them_when_it_is_resumed(client: Client) -> None:
    bag = await opened(client)
    await bag.add(numbers(0, 2))
    await becomes(client, bag.number, lambda s: s["done"] == 2)
    await bag.pause()
    await bag.add(numbers(2, 2))
    await asyncio.sleep(0.3)
    assert (await bag.status())["done"] == 2
    await bag.resume()
    await becomes(client, bag.number, lambda s: s["done"] == 4)
    await bag.cancel()
    assert (await over(client, bag.number))["state"] == "cancelled"


async def test_a_master_killed_in_the_middle_of_adds_loses_none_and_doubles_none(
    killable: Make,
) -> None:
    """Batches come one after another while the master dies again and again at any moment."""
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        bag = await opened(client)
        batches = [numbers(20 * k, 20) for k in range(60)]
        begun = asyncio.Event()

        async def adding() -> None:
            for batch in batches:
                await bag.add(batch)
                begun.set()

        work = asyncio.create_task(adding())
        await begun.wait()
        for pause in (0.02, 0.11, 0.05):
            await asyncio.sleep(pause)
            await asyncio.to_thread(_kill_and_start, master)
        await work
        await bag.close()
        status = await over(client, bag.number)
        rows = await results(client, bag.number)
    assert (status["state"], status["done"], status["total"]) == ("complete", 1200, 1200)
    assert sorted(int(row["parameters"]["x"]) for row in rows) == list(range(1200))
    with Reader(master.folder) as reader:
        assert len(reader.additions(BagId(1))) == 60
        assert reader.bag(BagId(1)).tasks == 1200


async def test_a_bag_whose_end_is_not_written_yet_is_not_revived_by_words_to_it(
    master: Master, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store says still that it runs, or waits: what is changed is the master's own bag."""
    monkeypatch.setattr("bats.master.service.master._WRITING_SECONDS", 0.1)
    monkeypatch.setattr("bats.master.queries.question._CATCH_UP_SECONDS", 0.05)
    ended, cancelled = await opened(client), await opened(client, hold=True)
    with monkeypatch.context() as full:
        full.setattr(master.store._commit, "_write", _no_room)
        full.setattr(master.store._commit, "_retry_seconds", 0.05)
        for ends in (ended.close, ended.close, cancelled.cancel):
            with pytest.raises(BatsError, match="could not be written down yet"):
                await ends()
        with pytest.raises(UsageError, match="Bag 2 has ended: cancelled"):
            await cancelled.close()
        with pytest.raises(BatsError, match="bag 1 is kept; prune it again later"):
            await client.ask("prune", bag=1)
    await master.store.committed()
    with Reader(master.options.state) as reader:
        assert [row.state for row in reader.bags()] == ["complete", "cancelled"]


def _no_room(_: Batch) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


def _kill_and_start(master: KillableMaster) -> None:
    master.kill()
    master.start()


async def test_what_is_acknowledged_is_in_the_store(killable: Make) -> None:
    master = killable()
    master.start()
    async with master.client() as client:
        bag = await opened(client, "sleep 60; echo {x}")
        await bag.add(numbers(0, 7))
        await bag.close()
        master.kill()
        master.process = None  # it is not to be ended again
    with Reader(master.folder) as reader:
        found = read_bag(reader, BagId(1))
        assert (found.sweep.count, found.is_open) == (7, False)
        assert found.sweep.parameters(6) == {"x": "6"}


async def test_ten_thousand_tasks_a_second_in_batches(master: Master, client: Client) -> None:
    bag = await opened(client, hold=True)
    began = asyncio.get_running_loop().time()
    for first in range(0, 50_000, 1000):
        await bag.add(numbers(first, 1000))
    took = asyncio.get_running_loop().time() - began
    assert (await bag.status())["total"] == 50_000
    assert took < 50, "ten times the time of the bar: this computer may be busy"


async def test_added_tasks_are_in_a_store_that_is_checked_saved_and_pruned(
    killable: Make, tmp_path: Path
) -> None:
    master = killable()
    master.start()
    async with master.client() as client:
        bag = await opened(client)
        await bag.add(numbers(0, 30))
        await bag.close()
        await over(client, bag.number)
    master.kill(signal.SIGTERM)
    assert master.process is not None
    await asyncio.to_thread(master.process.wait)
    saved = tmp_path / "saved"
    assert salvage(master.folder, saved).sound
    with Reader(saved) as reader:
        assert read_bag(reader, BagId(1)).sweep.count == 30
    with sqlite3.connect(saved / "store.db") as db:
        db.execute("UPDATE additions SET tasks = tasks + 1")
    assert not inspect(saved).sound
    prune(master.folder, [BagId(1)], "test")
    with Reader(master.folder) as reader:
        assert reader.additions(BagId(1)) == []
