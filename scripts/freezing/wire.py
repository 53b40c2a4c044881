"""Frames of a session that uses every message, as they are before encryption.

A real master, a machine of the local back end and a worker started by hand, a client; a tap at the
master's socket. Kept are, in this order, who says it, to whom, the frame, and what this release
reads in it.
"""

import asyncio
import contextlib
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import msgpack

from bats.common.errors import BatsError
from bats.common.messages import MachineId
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.common.ticket import Ticket
from bats.common.wire import codec
from bats.common.wire.keys import read_access
from bats.deploy.local import Local
from bats.deploy.protocol import Sighting, Site
from bats.master.client import Client, connect, sweep
from bats.master.service.home import WORKER
from bats.master.service.master import Master, serving
from bats.master.service.options import Options, place_of
from bats.master.service.wire.admission import Role
from bats.master.service.wire.router import Heard

KINDS: Final[Mapping[Role, str]] = {
    Role.CLIENT: "client",
    Role.HAND: "worker by hand",
    Role.MACHINE: "worker",
}
MASTER: Final = "master"
MOST_OF_A_KIND: Final = 12  # frames of one type in one direction
HERE: Final = Offering(ClusterName("here"), 0, 3600.0, 1, 2)
BY_HAND: Final = Offering(ClusterName("hand"), 0, 3600.0, 1, 2, backend=MANUAL)
PATIENCE_SECONDS: Final = 60.0
# Four tasks fill all slots for longer than what is queued behind them will wait.
SWEEP: Final = """\
command = '''
case {n} in ?) cat greeting; cp greeting made;; 10[0-3]) echo waits; exec sleep 600;; esac
test {n} != 3 || exit 5
'''
inputs = ["greeting"]
outputs = ["made"]
[grid]
n = "1:200"
"""
BLOCKING: Final = range(99, 103)  # their numbers


class Tap:
    """Sees every frame that the master hears or sends."""

    def __init__(self, master: Master) -> None:
        self._admission = master.admission
        self._hear, self._send = master.inbox.hear, master.router.send
        self._kinds: dict[bytes, str] = {}
        self._seen: Counter[tuple[str, str, str]] = Counter()
        self.taken: list[tuple[str, str, bytes]] = []
        master.router.serve(self.hear, master.reports.lost)
        master.router.send = self.send  # type: ignore[method-assign]

    def hear(self, batch: list[Heard]) -> None:
        for heard in batch:
            peer = self._admission.peer(heard.key)
            kind = self._kinds[heard.route] = KINDS[peer.role] if peer else "stranger"
            self._take(kind, MASTER, bytes(heard.frame))
        self._hear(batch)

    def send(self, route: bytes, frame: bytes) -> None:
        self._take(MASTER, self._kinds.get(route, "stranger"), frame)
        self._send(route, frame)

    def names(self) -> set[str]:
        return {name for _, _, name in self._seen}

    def _take(self, who: str, to: str, frame: bytes) -> None:
        which = who, to, codec.name_of(frame)
        self._seen[which] += 1
        if self._seen[which] <= MOST_OF_A_KIND:
            self.taken.append((who, to, frame))


class OnceOnly(Local):
    """Hands out tickets that may be used once, as batch systems and clouds do."""

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        return await super().start([replace(one, single_use=True) for one in tickets])


def freeze(work: Path, target: Path) -> None:
    """Have the session, and write what was said. Raises RuntimeError if a message is missing."""
    work.mkdir()
    taken = asyncio.run(_session(work))
    rows = [(who, to, frame, readable(codec.decode(frame))) for who, to, frame in taken]
    target.write_bytes(msgpack.packb(rows))


def readable(message: codec.Message) -> list[Any]:
    """The message's name and its fields by name, as plain data that msgpack keeps."""
    told = {one.name: getattr(message, one.name) for one in fields(message)}
    return [type(message).__name__, told]


async def _session(work: Path) -> list[tuple[str, str, bytes]]:
    (work / "greeting").write_text("hello\n")
    (work / "sweep.toml").write_text(SWEEP)
    site = Site("frozen", str(work / "state"), (sys.executable, "-m", "bats.worker"))
    options = Options(
        state=work / "state",
        offerings=(HERE, BY_HAND),
        backends={place_of(HERE): OnceOnly(HERE, site)},
        heartbeat_seconds=0.5,
    )
    async with serving(options) as master:
        tap = Tap(master)
        async with connect(master.access) as client:
            await _told_off(master)
            async with _worker_by_hand(work):
                bag = await client.submit(sweep(work / "sweep.toml"), rule="fastest")
                await _until(client, bag.number, lambda _: "Returned" in tap.names())
                async for said in bag.follow_log(BLOCKING[0]):
                    if said.data:
                        break
                await bag.cancel()
                await bag.wait()
                with contextlib.suppress(BatsError):
                    await client.ask("choose", bag=bag.number, rule="none of them")
                for verb in ("bags", "machines", "decisions", "explain", "schedules"):
                    await client.ask(verb)
                async for _ in client.stream("results", bag=bag.number):
                    pass
        await asyncio.sleep(0.1)
    if missing := {one.__name__ for one in _every_message()} - tap.names():
        raise RuntimeError(f"nobody said {', '.join(sorted(missing))}")
    return tap.taken


async def _told_off(master: Master) -> None:
    """With a worker's key nobody may ask anything."""
    worker = read_access(master.home.folder / WORKER, "worker")
    with contextlib.suppress(BatsError):
        async with connect(replace(worker, role="client")) as stranger:
            await stranger.ask("bags")


@contextlib.asynccontextmanager
async def _worker_by_hand(work: Path) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bats.worker", "--access", str(work / "state" / WORKER),
        "--slots", "2", "--name", "hand", "--folder", str(work / "by hand"),
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def _until(client: Client, bag: int, true: Any) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not true(await client.ask("wait", bag=bag, seconds=0.2)):
            pass


def _every_message() -> tuple[type, ...]:
    return codec.Message.__args__  # type: ignore[attr-defined,no-any-return]
