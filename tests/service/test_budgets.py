"""A peer with a valid key has budgets: of time, bytes and connections; beyond them it is out."""

import asyncio
import contextlib
import resource
from pathlib import Path

import pytest
import structlog
from helpers.peer import Peer, done, manual, peer
from helpers.service import eventually, keeps_up, over, sweep

from bats.common.messages import (
    BlobChunk,
    Enroll,
    Heartbeat,
    MachineId,
    Outcome,
    Results,
    Run,
    WantBlob,
    Welcome,
)
from bats.common.wire.codec import encode
from bats.common.wire.keys import Access, KeyPair, new_pair, read_access
from bats.master.client import Client
from bats.master.service.bags.runner import held_to
from bats.master.service.home import WORKER
from bats.master.service.master import Master
from bats.master.service.wire.admission import Peer as Known
from bats.master.service.wire.admission import Role
from bats.master.service.wire.budgets import Budgets, allowance
from bats.master.service.wire.inflow import Meter

HEARTBEAT_SECONDS = 0.5  # who takes a task and floods instead is not waited for long


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_wastes_little_is_never_shut_out() -> None:
    clock = Clock()
    budgets = Budgets(clock)
    for _ in range(10_000):
        clock.now += 1.0
        assert budgets.waste("key", 0.01) == 0.0
    assert not budgets.is_out("key")


def test_who_wastes_much_is_shut_out_longer_each_time_and_nobody_else_is() -> None:
    clock = Clock()
    budgets = Budgets(clock)
    pauses = []
    for _ in range(9):
        while not (pause := budgets.waste("key", 0.1)):
            assert not budgets.is_out("key")
        pauses.append(pause)
        assert budgets.is_out("key")
        assert not budgets.is_out("other")
        clock.now += pause
        assert not budgets.is_out("key")
    assert pauses[:3] == [10.0, 20.0, 40.0]
    assert max(pauses) == 600.0
    clock.now += 4000.0
    assert budgets.shut_out("key") == 10.0, "what is long ago is forgiven"


def test_what_many_come_with_may_take_more_than_what_is_ones_own() -> None:
    shared, own = Known(Role.HAND), Known(Role.HAND, own=True)
    assert allowance(shared).connections > allowance(own).connections
    budgets = Budgets(Clock())
    assert not budgets.waste("invitation", 2.0, shared=True)
    assert budgets.waste("own", 2.0)


def test_a_meter_tells_what_waits_and_saves_nothing_up() -> None:
    meter = Meter(0.0)
    assert meter.unread(10_000, 0.0) == 10_000
    meter.hand_on(9_900)
    assert meter.unread(10_000, 0.0) == 0
    for _ in range(1_000):
        meter.hand_on(50)  # with some 40 bytes around each
    assert meter.unread(100_000, 1.0) == 0
    assert meter.unread(1_100_000, 1.0) == 1_000_000, "no credit for bytes that never came"
    idle = Meter(0.0)
    assert idle.unread(86_400 * 30, 86_400.0) == 0, "pings of a day"


async def enrolled(master: Master) -> tuple[Access, KeyPair]:
    access, own = read_access(master.home.folder / WORKER, "worker"), new_pair()
    async with peer(access) as joining:
        await joining.say(Enroll(MachineId(-1), own.public.encode()))
        await joining.hear(Welcome)
    return access, own


async def still_works(client: Client) -> None:
    bag = (await client.ask("submit", sweep=sweep(3)))["bag"]
    assert (await over(client, bag))["done"] == 3


FLOODS = {
    "results of nobody's": lambda: encode(
        Results(1 << 40, tuple(done(1, task) for task in range(5_000)))
    ),
    "nonsense": lambda: b"\x93\x04\xc1" + bytes(100_000),
    "files that nobody asked for": lambda: encode(BlobChunk("0" * 64, 0, 1 << 40, bytes(100_000))),
}


@pytest.mark.parametrize("name", FLOODS)
async def test_who_floods_is_shut_out_and_the_others_are_served(
    master: Master, client: Client, name: str
) -> None:
    access, own = await enrolled(master)
    frame = FLOODS[name]()
    async with peer(access, own) as flooder:
        await flooder.hello()
        flood = asyncio.create_task(_flood(flooder, frame))
        await eventually(lambda: master.budgets.is_out(own.public))
        await still_works(client)
        assert await keeps_up(client)
        flood.cancel()
        await asyncio.gather(flood, return_exceptions=True)
    master.budgets.shut_out(own.public)  # anew: all that may have taken longer than the first time
    refused = master.authenticator.refused
    async with peer(access, own):
        await eventually(lambda: master.authenticator.refused > refused)


async def test_who_says_of_all_it_is_given_that_it_was_killed_is_shut_out(
    master: Master, client: Client
) -> None:
    """It would be given them anew for ever, and each time that is written down."""
    access, own = await enrolled(master)
    async with peer(access, own) as idler:
        await idler.hello(slots=200)
        bag = (await client.ask("submit", sweep=sweep(200), offerings=[manual()]))["bag"]
        serial = 0
        async with asyncio.timeout(30):
            while not master.budgets.is_out(own.public):
                with contextlib.suppress(TimeoutError):
                    told = (await idler.hear(Run, 1.0)).orders
                    serial += 1
                    killed = [
                        done(bag, one.task)._replace(attempt=one.attempt, outcome=Outcome.KILLED)
                        for one in told
                    ]
                    await idler.say(Results(serial, tuple(killed)))
        assert serial > 10, "nor is who stops once"
        assert (await client.ask("status", bag=bag))["failed"] == 0
        await client.ask("cancel", bag=bag)


async def _flood(flooder: Peer, frame: bytes) -> None:
    while True:
        await flooder.say(frame)
        await asyncio.sleep(0)  # to the master, in this same process


async def test_a_message_of_parts_without_end_ends_its_connection_not_the_master(
    master: Master, client: Client
) -> None:
    access, own = await enrolled(master)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with structlog.testing.capture_logs() as logs:
        async with peer(access, own) as giant:
            await giant.hello()
            parts = asyncio.create_task(_parts(giant))
            await eventually(lambda: [one for one in logs if "can be read" in str(one.get("why"))])
            parts.cancel()
            await asyncio.gather(parts, return_exceptions=True)
    await still_works(client)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000, "kB, the sender's own among them"


async def _parts(giant: Peer) -> None:
    """ZeroMQ sends a message when it has all of it; another sender need not wait."""
    part = bytes(1 << 20)
    while True:
        await giant.socket.send_multipart([part] * 64, copy=False)
        await asyncio.sleep(0.1)


async def test_who_asks_for_files_without_taking_them_gets_no_more(
    master: Master, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 300_000)
    sha256, _ = await client.send_file(file)
    access, own = await enrolled(master)
    async with peer(access, own) as greedy:
        await greedy.hello()
        for _ in range(300):
            await greedy.say(WantBlob(sha256, 0))
        await still_works(client)
        assert sum(master.files._giving.values()) <= 32
        assert sum(master.router._unsent_bytes.values()) <= 20 << 20


async def test_one_key_has_so_many_connections_and_the_newest_ones_count(
    master: Master, client: Client
) -> None:
    access, own = await enrolled(master)
    async with contextlib.AsyncExitStack() as opened:
        for _ in range(12):
            one = await opened.enter_async_context(peer(access, own))
            await one.hello()
        connections = master.router.connections
        await eventually(lambda: len(connections._of_key.get(own.public, ())) <= 8)
        await one.say(Heartbeat((), 0, 1.0))
        assert await one.hello(), "the last one is heard"
    await still_works(client)


def test_what_a_result_says_is_cut_to_what_our_workers_say() -> None:
    long = done(1, 1)._replace(excerpt="x" * 1_000_000 + "end", wall_seconds=1.0)
    kept = held_to(long, 10.0)
    assert len(kept.excerpt) == 128 << 10
    assert kept.excerpt.endswith("end")
    assert held_to(done(1, 1), 10.0) == done(1, 1)
