"""The ticket in an instance's user data is good once, and for nobody once its machine is gone."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.beds import Bed
from helpers.user import BATS

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.deploy.testing import eventually
from bats.master.client import Client, connect
from bats.master.service.master import serving
from bats.master.service.options import Options
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep

pytestmark = pytest.mark.backend("ec2")
WORKER = (str(BATS.with_name("python")), "-m", "bats.worker")


def instances(bed: Bed, *, setup: tuple[str, ...] = ()) -> Offering:
    settings = {
        "image": bed.environment["BATS_EC2_AMI"],
        "instance_type": "t3.large",
        "worker": list(WORKER),
        "setup": list(setup),
    }
    price, hour = money("0.1"), 3600.0
    return Offering(ClusterName("cloud"), price, hour, 1, backend="ec2", settings=settings)


@asynccontextmanager
async def served(folder: Path, offering: Offering, **more: Any) -> AsyncIterator[Client]:
    options = Options(state=folder / "state", offerings=(offering,), poll_seconds=0.5, **more)
    async with serving(options) as master, connect(master.access) as client:
        yield client


async def submitted(client: Client, command: str) -> int:
    space = Space((Axis(("x",), (Listed(("1", "2")),)),))
    sweep = Sweep(space, command=command).to_plain()
    answer = await client.ask("submit", sweep=sweep, rule="fastest", budget=money(1))
    return int(answer["bag"])


async def first_machine(client: Client, bag: int) -> dict[str, Any]:
    found = (await client.ask("machines", bag=bag))["machines"]
    return dict(found[0]) if found else {"state": "", "address": ""}


def ticket_of(bed: Bed, address: str) -> str:
    """As whoever runs on the instance can read it."""
    script = (bed.state / "i" / address.split(maxsplit=1)[0] / "user-data").read_text()
    (line,) = re.findall(r"^\{.*\}$", script, re.MULTILINE)
    return str(line)


async def thief(ticket: str, folder: Path) -> tuple[int, str]:
    """A worker with somebody else's ticket, which it would keep trying for a few seconds."""
    folder.mkdir()
    stolen = json.dumps({**json.loads(ticket), "lease_seconds": 6, "power_off": ""}) + "\n"
    process = await asyncio.create_subprocess_exec(
        *(*WORKER, "--ticket", "-", "--folder", str(folder), "--log", "json"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate(stolen.encode())
    return process.returncode or 0, said.decode()


async def test_a_ticket_that_was_used_lets_nobody_else_in(ec2_bed: Bed, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    ec2_bed.enter(monkeypatch)
    gate = tmp_path / "gate"
    async with served(tmp_path, instances(ec2_bed)) as client:
        bag = await submitted(client, f"until [ -e '{gate}' ]; do sleep 0.1; done")
        look = partial(first_machine, client, bag)
        seen = await eventually(look, lambda one: one["state"] == "up", 90, "a machine is up")
        code, said = await thief(ticket_of(ec2_bed, seen["address"]), tmp_path / "thief")
        assert code != 0
        assert '"joined"' not in said
        workers = (await client.ask("snapshot"))["workers"]
        assert [one["machine"] for one in workers] == [seen["number"]]
        gate.touch()
        status = partial(client.ask, "status", bag=bag)
        ended = await eventually(status, lambda told: told["over"], 120, "the bag is over")
        assert ended["done"] == 2


async def test_a_ticket_that_was_never_used_expires_with_its_machine(
    ec2_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ec2_bed.enter(monkeypatch)
    stuck = instances(ec2_bed, setup=("sleep 999",))
    async with served(tmp_path, stuck, join_seconds=5.0) as client:
        bag = await submitted(client, "true")
        look = partial(first_machine, client, bag)
        await eventually(look, lambda one: bool(one["address"]), 60, "it is charged")
        gone = await eventually(look, lambda one: one["state"] == "gone", 90, "it is given up")
        assert "did not join within 5 s" in gone["reason"]
        await client.ask("cancel", bag=bag)
        code, said = await thief(ticket_of(ec2_bed, gone["address"]), tmp_path / "thief")
        assert code != 0
        assert '"joined"' not in said
        status = partial(client.ask, "status", bag=bag)
        await eventually(status, lambda told: told["over"], 120, "the bag is over")
