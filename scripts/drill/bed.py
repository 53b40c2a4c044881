"""The place of the drill: a master on a small disk, a link to it, bags of real tasks."""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

from bats.common.errors import BatsError
from bats.common.money import Money
from bats.common.wire.keys import read_access
from bats.master.client import Client, connect
from bats.master.store.reader import Reader
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep

from .link import Link
from .watch import MARK, Watch, now

DISK_BYTES = 768 << 20  # 1,700 tasks, as many as a drill of ten minutes had, need a quarter of it
MASTER_AT, LINK_AT = "127.0.0.1", "127.0.0.2"  # the same port at both: workers know the second
CENT = 10**7

INPUT_BYTES = 0, 200_000  # of each bag
NOT_KILLING = ("setpriv", "--bounding-set", "-kill")  # may not kill other users' processes

TASK = Path(__file__).with_name("task.sh")
MASTER = Path(__file__).with_name("serve_master.py")


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Harm was done in this time, to one machine or (None) to all."""

    kind: str
    machine: int | None
    since: float
    until: float


class LostInputError(Exception):
    """The power failed before an input was durable: it is to be sent again."""


class Bed:
    def __init__(self, folder: Path, offerings: list[dict[str, Any]] | None = None) -> None:
        self.folder = folder
        self.offerings = offerings or several()
        self.state = folder / "disk" / "state"
        self.logs = folder / "logs"
        self.calendar = folder / "calendar"
        self.synced = folder / "synced"  # told by masters
        self.output = folder / "output"
        self.not_killing = NOT_KILLING if _makes_unkillable() else ()
        self.master_log = folder / "master.log"
        self.port = free_port()
        self.link = Link(LINK_AT, MASTER_AT, self.port)
        self.watch = Watch(secrets.token_hex(8))
        self.disk = False  # whether the state lies on a small disk of its own
        self.process: subprocess.Popen[str] | None = None
        self.deaths: list[str] = []  # of masters that nobody killed
        self.disturbances: list[Disturbance] = []
        self.bags: list[int] = []
        self.known_done: dict[tuple[int, int], float] = {}  # since when, at latest
        self.held = asyncio.Lock()  # of whoever stops and starts masters

    # --- setting up, taking down ------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self.logs.mkdir()
        self.calendar.write_text("0")
        self.disk = _small_disk(self.state.parent)
        self.watch.start()
        await self.link.start()
        try:
            await self.start_master()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.watch.close()
        await self.link.close()
        for _ in range(20):
            left = self.watch.ours()
            for seen in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(seen.pid, signal.SIGKILL)
            if not left:
                break
            await asyncio.sleep(0.05)
        if self.process:
            _bury(self.process)
        if self.disk:
            shutil.copytree(self.state, self.folder / "state", dirs_exist_ok=True)
            _remove_disk(self.state.parent)

    # --- the master -------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        return {
            "state": str(self.state),
            "output": str(self.output),
            "calendar": str(self.calendar),
            "synced": str(self.synced),
            "port": self.port,
            "reach": [LINK_AT],
            "offerings": self.offerings,
            "heartbeat_seconds": 0.5,
            "rejoin_seconds": 5.0,
            "join_seconds": 20.0,
            "poll_seconds": 1.0,
        }

    def _spawn(self, log: IO[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self.not_killing, sys.executable, str(MASTER), json.dumps(self._options())],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={
                **os.environ,
                MARK: self.watch.mark,
                "LOGS": str(self.logs),
                "UNKILLABLE": "yes" if self.not_killing else "",
            },
        )

    async def start_master(self) -> None:
        """The same command each time; again and again while the disk is full."""
        while True:
            with self.master_log.open("a") as log:
                self.process = process = self._spawn(log)
            self.watch.master = process.pid
            assert process.stdout
            said = await asyncio.to_thread(process.stdout.readline)
            if said == "ready\n":
                return
            _bury(process)
            if process.returncode != -signal.SIGKILL and not self.disturbed("full disk", now()):
                self.deaths.append(f"a master did not start: exit code {process.returncode}")
            if len(self.deaths) > 5:
                raise BatsError("masters do not start any more; see " + str(self.master_log))
            await asyncio.sleep(0.2)

    async def kill_master(self, number: int = signal.SIGKILL) -> None:
        assert self.process
        self.process.send_signal(number)
        self.process.send_signal(signal.SIGCONT)
        await asyncio.to_thread(_bury, self.process)

    async def mind_master(self) -> None:
        """Start it again if it ended by itself, and remember that."""
        async with self.held:
            if self.process and (code := self.process.poll()) is not None:
                _bury(self.process)
                if not self.disturbed("full disk", now()):
                    self.deaths.append(f"a master ended by itself with exit code {code}")
                await self.start_master()

    # --- what was done to it ----------------------------------------------------------------------

    @contextlib.contextmanager
    def disturb(self, kind: str, machine: int | None = None) -> Iterator[None]:
        since = now()
        self.disturbances.append(Disturbance(kind, machine, since, float("inf")))
        at = len(self.disturbances) - 1
        try:
            yield
        finally:
            self.disturbances[at] = Disturbance(kind, machine, since, now())

    def harmed(self, machine: int, since: float, until: float) -> bool:
        """True if anything was done to this machine, or to all, in that time."""
        return any(
            one.machine in (None, machine) and one.since < until and one.until > since
            for one in self.disturbances
        )

    def disturbed(self, kind: str, at: float) -> bool:
        """True if that is so now, or was a moment ago."""
        return any(one.kind == kind and one.until > at - 3.0 for one in self.disturbances)

    # --- asking and looking -----------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        access = read_access(self.state / "access.json")
        async with connect(replace(access, master=(f"tcp://{MASTER_AT}:{self.port}",))) as client:
            yield client

    async def ask(self, verb: str, **body: Any) -> dict[str, Any]:
        """Patient: masters come and go here."""
        while True:
            try:
                async with asyncio.timeout(15), self.client() as client:
                    return await client.ask(verb, **body)
            except (BatsError, OSError, TimeoutError) as error:
                if "has not been sent" in str(error):
                    raise LostInputError from None
                await self.mind_master()
                await asyncio.sleep(0.3)

    async def submit(self, body: dict[str, Any]) -> None:
        """A bag with inputs of its own, each called by its content's SHA-256."""
        files = [self._input(size) for size in INPUT_BYTES]
        body = {
            **body,
            "inputs": [[one.name, one.name, one.stat().st_size, 0o644] for one in files],
        }
        while True:
            for file in files:
                await self._send(file)
            with contextlib.suppress(LostInputError):
                said = await self.ask("submit", **body)
                self.bags.append(said["bag"])
                return

    def _input(self, size: int) -> Path:
        content = secrets.token_bytes(size)
        file = self.folder / hashlib.sha256(content).hexdigest()
        file.write_bytes(content)
        return file

    async def _send(self, file: Path) -> None:
        while True:
            try:
                async with asyncio.timeout(15), self.client() as client:
                    await client.send_file(file)
            except (BatsError, OSError, TimeoutError):
                await self.mind_master()
                await asyncio.sleep(0.3)
            else:
                return

    def note_done(self) -> None:
        """Note the results that are durable by now, read from the store beside the master."""
        with contextlib.suppress(Exception), Reader(self.state) as reader:
            for number in self.bags:
                rows = [row.task for row in reader.every_task(number) if row.outcome == 0]
                at = now()
                for task in rows:
                    self.known_done.setdefault((number, task), at)


# --- what is run ----------------------------------------------------------------------------------


def several() -> list[dict[str, Any]]:
    """Kinds of machines; paid time comes in pieces of some seconds, or of one."""
    return [
        {"name": "slow", "price": CENT, "atu_seconds": 12.0, "max_machines": 3, "slots": 1,
         "boundary_seconds": 6.0},
        {"name": "fast", "price": 3 * CENT, "atu_seconds": 12.0, "max_machines": 2, "slots": 2,
         "boundary_seconds": 6.0, "settings": {"speed": 2.0}},
        by_the_second("fine", machines=2, lease_seconds=6.0),
    ]  # fmt: skip


def by_the_second(name: str, *, machines: int, lease_seconds: float) -> dict[str, Any]:
    """At the price of a slow one; it may be frozen for so long that its boundary is long, too."""
    return {"name": name, "price": CENT // 12, "atu_seconds": 1.0, "max_machines": machines,
            "slots": 1, "boundary_seconds": 6.0, "lease_seconds": lease_seconds}  # fmt: skip


def bag(rng: random.Random, tasks: int) -> dict[str, Any]:
    """Tasks of very different length; the money is enough, even when machines are lost."""
    lengths = [rng.choice((0.05, 0.2, 0.5, 1.0, 3.0)) * rng.uniform(0.5, 1.5) for _ in range(tasks)]
    return {
        "sweep": work(lengths),
        "budget": Money(3 * CENT * (20 + tasks)),
        "sampling": rng.choice(("none", "none", "regression")),
        "initial_workers": 2,
        "monitor_seconds": 3.0,
        "retries": 1000,
        "losses": 1000,
        "replicate": rng.random() < 0.7,
        "seed": rng.randrange(1 << 30),
    }


def work(lengths: Sequence[float]) -> dict[str, Any]:
    """A task that notes what it does, for each of these seconds."""
    numbers = [str(number) for number in range(len(lengths))]
    columns = Listed(numbers), Listed([f"{length:.2f}" for length in lengths])
    space = Space((Axis(("x", "seconds"), columns),))
    argv = ("/bin/sh", str(TASK), "{x}", "{seconds}")
    return Sweep(space, argv=argv, inputs=("*",), outputs=("left",)).to_plain()


def make_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="bats-drill-"))


def remove_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((MASTER_AT, 0))
        return int(probe.getsockname()[1])


def _makes_unkillable() -> bool:
    """True where tasks can become another user's, whom their worker may not kill."""
    return os.geteuid() == 0 and shutil.which("setpriv") is not None


def _bury(process: subprocess.Popen[str]) -> None:
    process.wait()
    if process.stdout:
        process.stdout.close()


def _remove_disk(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=False)


def _small_disk(folder: Path) -> bool:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if os.geteuid():
        return False
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0
