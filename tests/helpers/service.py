"""Masters, in this process or in one that can be killed, and what is asked of them.

A folder of tests that wants the fixtures imports them into its conftest.
"""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bats.common.offering import Offering
from bats.common.wire.keys import read_access
from bats.master.client import Client, connect
from bats.master.service.home import ACCESS
from bats.master.service.master import Master, serving
from bats.master.service.options import Options
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep
from helpers.workers import end_workers

PROCESS = Path(__file__).with_name("master_process.py")


def sweep(count: int, command: str = "echo {x}", **more: Any) -> dict[str, Any]:
    """So many tasks, each with its number for {x}."""
    space = Space((Axis(("x",), (Listed(map(str, range(count))),)),))
    return Sweep(space, command=command, **more).to_plain()


def paid(name: str, cents: int) -> dict[str, Any]:
    """An offering as a client names it: one machine for so many cents per ten seconds."""
    return {
        "name": name,
        "price": cents * 10**7,
        "atu_seconds": 10.0,
        "max_machines": 1,
        "slots": 1,
        "boundary_seconds": 0.5,
        "backend": "local",
    }


def free(slots: int = 2, machines: int = 1, name: str = "here") -> Offering:
    return Offering(name, 0, 3600.0, machines, slots)


class KillableMaster:
    """`bats master` as a user has it, but for the command line."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.options = {"state": str(folder), "offerings": [asdict(free())], **options}
        self.process: subprocess.Popen[str] | None = None
        self.log = folder.with_suffix(".log")

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(PROCESS), json.dumps(self.options)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout
        said = self.process.stdout.readline()
        assert said == "ready\n", self.log.read_text()

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self.process
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.communicate()

    def end(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()
        elif self.process:
            self.process.communicate()

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with connect(read_access(self.folder / ACCESS)) as client:
            yield client

    def logged(self, words: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{"]
        return [line for line in lines if words in line["event"]]


Make = Callable[..., KillableMaster]


@pytest.fixture
async def master(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Master]:
    """With this computer's processes for machines; a module may set its HEARTBEAT_SECONDS."""
    beats = getattr(request.module, "HEARTBEAT_SECONDS", 5.0)
    options = Options(state=tmp_path / "state", offerings=(free(),), heartbeat_seconds=beats)
    async with serving(options) as made:
        yield made
    end_workers(tmp_path)


@pytest.fixture
async def client(master: Master) -> AsyncIterator[Client]:
    async with connect(master.access) as made:
        yield made


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[Make]:
    """Makes masters that are ended with the test, and so are the workers they leave."""
    made: list[KillableMaster] = []

    def make(**options: Any) -> KillableMaster:
        made.append(KillableMaster(tmp_path / "state", **options))
        return made[-1]

    yield make
    for one in made:
        one.end()
    end_workers(tmp_path)


async def over(client: Client, bag: int, seconds: float = 60.0) -> dict[str, Any]:
    """The bag's last status, once every task is settled and every machine gone."""
    return await becomes(client, bag, lambda status: status["over"], seconds)


async def becomes(
    client: Client, bag: int, wanted: Callable[[dict[str, Any]], bool], seconds: float = 60.0
) -> dict[str, Any]:
    status: dict[str, Any] = {}
    try:
        async with asyncio.timeout(seconds):
            while not status or not wanted(status):
                status = await client.ask("wait", bag=bag, seconds=0.1, seen=status.get("seen", 0))
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s; the status is {status}") from None
    return status


async def eventually(look: Callable[[], Awaitable[Any] | Any], seconds: float = 60.0) -> Any:
    """The answer of `look` as soon as it is true."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while True:
        seen = look()
        if isinstance(seen, Awaitable):
            seen = await seen
        if seen:
            return seen
        assert loop.time() < ends, f"not within {seconds:g} s"
        await asyncio.sleep(0.02)


async def keeps_up(client: Client) -> bool:
    return float((await client.ask("snapshot"))["lag_seconds"]) < 1


async def results(client: Client, bag: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    async for part in client.stream("results", bag=bag):
        found += part["results"]
    return found
