"""Files go to the machines whose tasks need them, and what tasks leave comes back, whole."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from helpers.service import KillableMaster, Make, becomes, eventually, over, sweep
from helpers.workers import workers_in

from bats.common.errors import UsageError
from bats.common.folders import output_path
from bats.master.client import Client
from bats.master.service.master import Master
from bats.master.service.transfer_times import TransferTimes
from bats.master.store.blobs import Blobs


async def sent(client: Client, path: Path, name: str = "") -> list[Any]:
    sha256, size = await client.send_file(path)
    return [name or path.name, sha256, size, 0o644]


async def test_inputs_reach_tasks_and_outputs_come_back(client: Client, tmp_path: Path) -> None:
    big, small = tmp_path / "big", tmp_path / "small.txt"
    big.write_bytes(os.urandom(3_000_000))
    small.write_text("hello")
    (tmp_path / "empty").touch()
    inputs = [
        await sent(client, big, "data/big"),
        await sent(client, small),
        await sent(client, tmp_path / "empty"),
    ]
    assert await sent(client, big, "data/big") == inputs[0]  # the second time nothing is sent
    command = "mkdir out; cat data/big small.txt empty > out/{x}; echo {x} > number"
    submitted = await client.ask(
        "submit", sweep=sweep(4, command, outputs=("out", "number")), inputs=inputs
    )
    status = await over(client, submitted["bag"])
    assert (status["state"], status["done"]) == ("complete", 4)
    folder = Path(status["output_folder"]) / "0"
    wanted = hashlib.sha256(big.read_bytes() + b"hello").hexdigest()
    for task in range(4):
        found = (folder / str(task) / "out" / str(task)).read_bytes()
        assert hashlib.sha256(found).hexdigest() == wanted
        assert (folder / str(task) / "number").read_text() == f"{task}\n"


async def test_a_content_that_is_here_already_is_not_counted_as_moved(
    master: Master, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[int] = []
    monkeypatch.setattr(TransferTimes, "left", lambda _, machine, size, seconds: moved.append(size))
    command = "head -c 3000000 /dev/zero > big"
    submitted = await client.ask("submit", sweep=sweep(4, command, outputs=("big",)))
    status = await over(client, submitted["bag"])
    assert (status["state"], status["done"]) == ("complete", 4)
    assert sum(moved) == 3_000_000


async def test_an_input_that_was_not_sent_is_named(client: Client) -> None:
    missing = ["data", "0" * 64, 10, 0o644]
    with pytest.raises(UsageError, match="input data has not been sent"):
        await client.ask("submit", sweep=sweep(1), inputs=[missing])


async def test_outputs_survive_a_kill_of_the_master(killable: Make, tmp_path: Path) -> None:
    master: KillableMaster = killable(heartbeat_seconds=0.5)
    master.start()
    command = "head -c 2000000 /dev/urandom > big; sleep 0.2"
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(8, command, outputs=("big",))))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 2)
    master.kill()
    await eventually(lambda: workers_in(tmp_path))
    master.start()
    async with master.client() as client:
        status = await over(client, bag)
        assert status["done"] == 8
        rows = [row async for part in client.stream("results", bag=bag) for row in part["results"]]
    for row in rows:
        ((name, sha256, size),) = row["outputs"]
        found = Path(status["output_folder"], "0", str(row["task"]), name).read_bytes()
        assert (len(found), hashlib.sha256(found).hexdigest()) == (size, sha256)


async def test_an_output_comes_back_that_was_whole_but_not_kept_when_the_master_was_killed(
    killable: Make, tmp_path: Path
) -> None:
    master: KillableMaster = killable(heartbeat_seconds=0.5)
    master.start()
    command = "echo {x} > small; sleep 0.3"
    async with master.client() as client:
        bag = (await client.ask("submit", sweep=sweep(6, command, outputs=("small",))))["bag"]
        await becomes(client, bag, lambda status: status.get("done", 0) >= 1)
    master.kill()
    blobs = Blobs(tmp_path / "state")

    def held_by_worker() -> list[Path]:
        found = tmp_path.glob("**/files/outputs/" + 64 * "[0-9a-f]")
        return [file for file in found if not blobs.has(file.name)]

    held, *_ = await eventually(held_by_worker)
    blobs._part(held.name).parent.mkdir(exist_ok=True)
    blobs._part(held.name).write_bytes(held.read_bytes())
    master.start()
    async with master.client() as client:
        assert (await over(client, bag))["done"] == 6
    assert blobs.has(held.name)


async def test_what_a_failed_attempt_said_comes_back_too(client: Client, tmp_path: Path) -> None:
    command = "if test $BATS_ATTEMPT = 1; then echo oh >&2; exit 3; fi; echo fine"
    folder = tmp_path / "output"
    submitted = await client.ask(
        "submit", sweep=sweep(2, command), output_folder=str(folder), hold=True
    )
    folder.rmdir()  # as seen from a machine that does not share it
    await client.ask("release", bag=submitted["bag"])
    status = await over(client, submitted["bag"])
    assert status["done"] == 2
    for task in range(2):
        assert (folder / "0" / f"{task}.err").read_text() == "oh\n"
        assert (folder / "0" / f"{task}.2.out").read_text() == "fine\n"


@pytest.mark.parametrize("name", ["/etc/passwd", "../../x", "", "a\0b", "x/../../y"])
def test_an_output_never_lies_outside_its_folder(name: str) -> None:
    assert output_path(1001, 1, name) is None


def test_streams_lie_where_workers_put_them_that_share_our_files() -> None:
    assert output_path(1001, 1, "stdout") == "1/1001.out"
    assert output_path(1001, 2, "stderr") == "1/1001.2.err"


async def test_the_content_store_forgets_what_a_pruned_bag_held(
    master: Master, client: Client, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.write_text("once")
    row = await sent(client, data)
    bag = (await client.ask("submit", sweep=sweep(1), inputs=[row]))["bag"]
    await over(client, bag)
    assert master.blobs.has(row[1])
    await client.ask("prune", bag=bag)
    assert not master.blobs.has(row[1])
