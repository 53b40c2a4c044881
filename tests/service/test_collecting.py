"""A task is done when what it left lies here, synced; a machine that dies before loses nothing."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.service import Make, becomes, eventually, over, results, sweep
from helpers.workers import end_workers, workers_in

from bats.common.offering import Offering
from bats.deploy.host.roster import Roster
from bats.master.client import Client, connect
from bats.master.service.master import Master, serving
from bats.master.service.options import Options
from bats.master.service.wire.admission import Role

BIG = "head -c 3000000 /dev/urandom > big"


@pytest.fixture
def cut(master: Master) -> Iterator[Any]:
    """No file comes from any machine until it is called."""
    files = master.files
    route_of = files._route_of
    files._route_of = lambda _: None

    def mend() -> None:
        files._route_of = route_of
        for machine in list(files._machines):
            files._ask(machine)

    yield mend
    files._route_of = route_of


async def coming(client: Client, bag: int) -> Any:
    """The attempts of its first task whose files are on their way."""
    told = (await client.ask("task", bag=bag, task=0))["running"]
    return [one for one in told if one["state"] == "collecting"]


def whole(status: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    for row in rows:
        for name, sha256, _ in row["outputs"]:
            place = Path(status["output_folder"], "0", str(row["task"]), name)
            if hashlib.sha256(place.read_bytes()).hexdigest() != sha256:
                return False
    return True


async def test_a_bag_is_not_complete_before_its_files_are_here(client: Client, cut: Any) -> None:
    bag = (await client.ask("submit", sweep=sweep(1, BIG, outputs=("big",))))["bag"]
    await eventually(lambda: coming(client, bag))
    status = await client.ask("status", bag=bag)
    assert (status["over"], status["done"]) == (False, 0)
    cut()
    status = await over(client, bag)
    assert (status["state"], status["done"]) == ("complete", 1)
    assert whole(status, await results(client, bag))


@pytest.mark.parametrize("folder_stays", [True, False])
async def test_a_worker_killed_while_its_files_come_has_its_task_run_again_unless_its_folder_stays(
    client: Client, cut: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder_stays: bool
) -> None:
    if not folder_stays:
        monkeypatch.setattr(Roster, "left", lambda *_: b"")
    bag = (await client.ask("submit", sweep=sweep(1, BIG, outputs=("big",))))["bag"]
    (first,) = await eventually(lambda: coming(client, bag))
    end_workers(tmp_path)
    if not folder_stays:
        await eventually(lambda: workers_in(tmp_path).keys() - {first["machine"]})
    cut()
    status = await over(client, bag)
    assert (status["state"], status["done"]) == ("complete", 1)
    (row,) = await results(client, bag)
    assert (row["attempt"] == first["attempt"]) == folder_stays
    assert whole(status, [row])


async def test_what_a_machine_that_had_fallen_silent_leaves_counts_with_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rented = Offering("rented", 10**7, 2.0, 1, 1, boundary_seconds=0.3)
    options = Options(tmp_path / "state", offerings=(rented,), heartbeat_seconds=0.2)
    async with serving(options) as master, connect(master.access) as client:
        work = sweep(
            1, f"mktemp {tmp_path}/ran.XXXX; sleep .2; echo kept > kept", outputs=("kept",)
        )
        bag = (await client.ask("submit", sweep=work, budget=10**9))["bag"]
        await eventually(lambda: list(tmp_path.glob("ran.*")))
        hear = master.inbox._hear_one
        monkeypatch.setattr(  # from here on nothing of it comes through
            master.inbox, "_hear_one",
            lambda heard, peer: peer.role is not Role.CLIENT or hear(heard, peer),
        )  # fmt: skip
        status = await over(client, bag, 30)
        assert (status["state"], status["done"]) == ("complete", 1)
        decided = (await client.ask("decisions", bag=bag))["decisions"]
        assert any("is silent" in one["words"] for one in decided)
        (row,) = await results(client, bag)
    assert row["attempt"] == 1
    assert len(list(tmp_path.glob("ran.*"))) == 1
    assert Path(status["output_folder"], "0", "0", "kept").read_text() == "kept\n"


async def test_a_task_that_left_files_is_sampled_once_on_each_kind_of_machine(
    tmp_path: Path,
) -> None:
    """What it left is there from the first; how long it took on the second counts all the same."""
    kinds = tuple(Offering(name, 10**7, 3600.0, 1, 1) for name in ("one", "two"))
    async with (
        serving(Options(tmp_path / "state", offerings=kinds)) as master,
        connect(master.access) as client,
    ):
        work = sweep(30, f"mktemp {tmp_path}/{{x}}.XXXX; sleep .05; echo > kept", outputs=("kept",))
        asked = {"budget": 10**9, "replicate": False, "rule": "fastest"}
        bag = (await client.ask("submit", sweep=work, **asked))["bag"]
        await over(client, bag)
    ran = Counter(path.name.partition(".")[0] for path in tmp_path.glob("*.????"))
    assert max(ran.values()) == 2, "none was sampled on both"


async def test_a_master_killed_while_files_come_hears_of_them_again(
    killable: Make, tmp_path: Path
) -> None:
    master = killable(heartbeat_seconds=0.5)
    master.start()
    command = "head -c 40000000 /dev/urandom > big; echo ran >> ../../../ran"
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(1, command, outputs=("big",))))["bag"]
        await eventually(lambda: coming(client, bag))
    master.kill()
    master.start()
    async with master.client() as client:
        status = await over(client, bag)
        assert (status["state"], status["done"]) == ("complete", 1)
        rows = await results(client, bag)
    assert [row["attempt"] for row in rows] == [1]
    assert whole(status, rows)


async def test_files_that_a_machine_has_lost_fail_their_task(
    client: Client, cut: Any, tmp_path: Path
) -> None:
    sent = sweep(1, BIG, outputs=("big",), retries=0)
    bag = (await client.ask("submit", sweep=sent))["bag"]
    await eventually(lambda: coming(client, bag))
    for kept in tmp_path.glob("**/files/outputs/" + 64 * "[0-9a-f]"):
        kept.unlink()
    cut()
    status = await over(client, bag)
    assert (status["state"], status["failed"]) == ("with failures", 1)
    (row,) = await results(client, bag)
    assert "not on its machine any more" in row["excerpt"]


async def test_a_full_disk_at_the_master_keeps_the_machine_until_there_is_room(
    master: Master, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = True
    lay = master.files._lay

    def short_of_room(files: Any) -> None:
        if full:
            raise OSError(28, os.strerror(28))
        lay(files)

    monkeypatch.setattr(master.files, "_lay", short_of_room)
    monkeypatch.setattr("bats.master.service.transfers._LOOK_SECONDS", 0.05)
    bag = (await client.ask("submit", sweep=sweep(1, "echo {x} > small", outputs=("small",))))[
        "bag"
    ]
    await eventually(lambda: coming(client, bag))
    full = False
    status = await over(client, bag)
    assert status["done"] == 1
    assert whole(status, await results(client, bag))


async def test_a_cancelled_bag_waits_for_no_files(client: Client, cut: Any) -> None:
    bag = (await client.ask("submit", sweep=sweep(1, BIG, outputs=("big",))))["bag"]
    await eventually(lambda: coming(client, bag))
    await client.ask("cancel", bag=bag)
    status = await becomes(client, bag, lambda status: status["over"], 20)
    assert status["state"] == "cancelled"
