"""A master and workers as users start them, in processes of their own, and what they use up."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UnreachableError, UsageError
from bats.common.offering import ClusterName, Offering
from bats.common.wire.keys import read_access
from bats.master.client import Bag, Client, connect, sweep
from bats.master.sweep.sweep import Sweep

BATS: Final = Path(sys.executable).with_name("bats")
BY_HAND: Final = Offering(ClusterName("hand"), 0, 3600.0, 1024, 2, backend="manual")
_PATIENCE_SECONDS: Final = 30.0


class World:
    """A master in a fresh folder; everything started here ends with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.environment = {**os.environ, "BATS_STATE": str(self.state)}
        self._children: list[subprocess.Popen[bytes]] = []
        self.master = self.start_master()

    def start_master(self) -> "subprocess.Popen[bytes]":
        self.master = self.spawn([BATS, "master"])
        return self.master

    def spawn(self, arguments: Sequence[str | Path]) -> "subprocess.Popen[bytes]":
        with (self.folder / "log").open("ab") as log:
            child = subprocess.Popen(
                arguments, env=self.environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._children.append(child)
        return child

    def start_worker(self, slots: int = 2) -> "subprocess.Popen[bytes]":
        access = self.state / "worker.json"
        return self.spawn(
            [sys.executable, "-m", "bats.worker", "--access", access, "--slots", str(slots),
             "--folder", self.folder / f"worker {len(self._children)}"]
        )  # fmt: skip

    def start_helper(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """A program of this folder, which plays many or unnaturally quick workers."""
        program = Path(__file__).with_name(f"{module}.py")
        return self.spawn([sys.executable, program, self.state / "worker.json", *arguments])

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A connection to the master, as soon as it answers."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        async with AsyncExitStack() as stack:
            while True:
                try:
                    access = read_access(self.state / "access.json")
                    opened = connect(access, timeout_seconds=_PATIENCE_SECONDS)
                    client = await stack.enter_async_context(opened)
                    break
                except (UsageError, UnreachableError):  # not there yet
                    if time.monotonic() > deadline or self.master.poll() is not None:
                        raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                    await asyncio.sleep(0.01)
            await client.ask("bags")
            yield client

    def wait_for_workers(self, count: int, seconds: float = _PATIENCE_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while (there := (self.folder / "log").read_text().count("worker is there")) < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{there} of {count} workers are there after {seconds:g} s")
            time.sleep(0.02)

    def close(self) -> None:
        for child in self._children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        for child in reversed(self._children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@contextmanager
def world() -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="bats bench."))
    made = World(folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


async def finish(client: Client, work: Sweep) -> tuple[Bag, float, float]:
    """The bag, the seconds submission took, and those to the client's knowing all results."""
    began = time.monotonic()
    bag = await client.submit(work, offerings=[BY_HAND], rule="fastest")
    submitted = time.monotonic()
    status: dict[str, Any] = await bag.wait()
    ended = time.monotonic()
    if status["done"] < work.count:
        raise RuntimeError(f"{status['done']} of {work.count} tasks done: {status['state']}")
    return bag, submitted - began, ended - began


def numbered(command: str, count: int) -> Sweep:
    """So many tasks of one command, told apart by a variable of their environment."""
    return sweep(command=command, env={"I": "{i}"}, grid={"i": f"0:{count - 1}"})


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has no resident size")
