"""A new master on an old state folder knows all bags, and can go on with ended ones."""

import asyncio
import contextlib
import json
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.service import Make, becomes, free, over, results, sweep

from bats.common.errors import UsageError
from bats.common.wire.keys import read_access
from bats.master.bag import Bag
from bats.master.client import connect
from bats.master.queries.replay import Recorded, Replayed
from bats.master.service.home import ACCESS
from bats.master.service.master import serving
from bats.master.service.options import Options


async def test_an_ended_bag_can_be_seen_and_retried_after_a_restart(
    killable: Make, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    master = killable()
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(4, f"test {{x}} != 2 || test -e {gate}")))[
            "bag"
        ]
        before = await over(client, bag)
    master.kill()
    master.start()
    async with master.client() as client:
        status = await client.ask("status", bag=bag)
        assert {key: status[key] for key in ("state", "done", "failed", "spent", "words")} == {
            key: before[key] for key in ("state", "done", "failed", "spent", "words")
        }
        assert (await client.ask("explain", bag=bag))["failed"] == 1
        gate.touch()
        await client.ask("retry", bag=bag, tasks=[2])
        status = await becomes(client, bag, lambda s: s["over"] and s["state"] == "complete")
        assert status["done"] == 4
        assert [row["task"] for row in await results(client, bag)] == [0, 1, 2, 3]


async def test_a_bag_whose_end_was_heard_but_not_yet_noted_ends_after_a_restart(
    killable: Make,
) -> None:
    master = killable()
    master.start()
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(2, "true")))["bag"]
        before = await over(client, bag)
    master.kill()
    with contextlib.closing(sqlite3.connect(master.folder / "store.db")) as store:
        summary = json.loads(store.execute("SELECT summary FROM bags").fetchone()[0])
        noted = json.dumps({**summary, "words": "", "view": {}})
        store.execute("UPDATE bags SET state = 'running', ended = NULL, summary = ?", [noted])
        store.commit()
    master.start()
    async with master.client() as client:
        after = await over(client, bag)
        assert (after["state"], after["words"]) == (before["state"], before["words"])
        assert (await client.ask("bags"))["bags"][0]["ended"]


async def test_a_retry_beside_another_bag_goes_on_through_a_kill(
    killable: Make, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    master = killable(heartbeat_seconds=0.5)
    master.start()
    async with master.client() as client:
        first = (await client.ask("submit", sweep=sweep(2, f"test -e {gate}", retries=0)))["bag"]
        await over(client, first)
        second = (await client.ask("submit", sweep=sweep(6, "sleep 0.4")))["bag"]
        await becomes(client, second, lambda status: status.get("done", 0) >= 1)
        gate.touch()
        await client.ask("retry", bag=first)
    master.kill()
    master.start()
    async with master.client() as client:
        status = await becomes(client, first, lambda s: s["over"] and s["state"] == "complete")
        assert status["done"] == 2
        assert (await over(client, second))["state"] == "complete"


async def test_a_bag_is_replayed_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large one takes seconds, in which workers and clients want answers."""
    gate, go_on = tmp_path / "gate", threading.Event()
    options = Options(state=tmp_path / "state", offerings=(free(),))
    async with serving(options) as master, connect(master.access) as client:
        first = (await client.ask("submit", sweep=sweep(2, f"test -e {gate}", retries=0)))["bag"]
        await over(client, first)
    replay = Replayed.of

    def slowly(bag: Bag, events: Any, recorded: Recorded) -> Replayed:
        assert bag.id != first or go_on.wait(20)
        return replay(bag, events, recorded)

    monkeypatch.setattr(Replayed, "of", slowly)
    async with serving(options) as master, connect(master.access) as client:
        gate.touch()
        retried = asyncio.create_task(client.ask("retry", bag=first))
        second = (await client.ask("submit", sweep=sweep(2)))["bag"]
        await becomes(client, second, lambda status: status["state"] == "complete")
        go_on.set()
        await retried
        await becomes(client, first, lambda s: s["over"] and s["state"] == "complete")


async def test_the_access_file_stays_good_through_a_restart(killable: Make, tmp_path: Path) -> None:
    master = killable()
    master.start()
    old = read_access(tmp_path / "state" / ACCESS)
    master.kill(signal.SIGTERM)
    assert master.process
    await asyncio.to_thread(master.process.communicate)
    assert master.process.returncode == 0
    master.start()
    async with connect(old) as client:
        assert (await client.ask("bags"))["bags"] == []


async def test_what_says_where_a_master_is_is_not_written_again(tmp_path: Path) -> None:
    """A disk that is full then would leave it empty, and workers would find no master."""
    state = tmp_path / "state"
    names = ("port", "access.json", "worker.json")
    async with serving(Options(state=state)) as master:
        port = master.port
        before = [(state / name).stat() for name in names]
    async with serving(Options(state=state)) as master:
        assert master.port == port
        after = [(state / name).stat() for name in names]
    assert [(s.st_ino, s.st_mtime_ns) for s in before] == [(s.st_ino, s.st_mtime_ns) for s in after]


async def test_two_masters_cannot_share_a_folder(tmp_path: Path) -> None:
    async with serving(Options(state=tmp_path)):
        with pytest.raises(UsageError, match="Another master"):
            async with serving(Options(state=tmp_path)):
                pass


async def test_only_the_owner_can_read_what_is_secret(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with serving(Options(state=state)) as master:
        assert state.stat().st_mode & 0o777 == 0o700
        secrets = [master.home.server, master.home.client, master.home.worker]
        for path in state.rglob("*"):
            if path.is_file():
                text = path.read_bytes()
                holds = any(pair.secret.encode() in text for pair in secrets)
                assert not holds or path.stat().st_mode & 0o077 == 0


async def test_a_bag_without_a_place_to_run_is_refused(tmp_path: Path) -> None:
    async with serving(Options(state=tmp_path)) as master, connect(master.access) as client:
        with pytest.raises(UsageError, match="nowhere to run"):
            await client.ask("submit", sweep=sweep(1))
