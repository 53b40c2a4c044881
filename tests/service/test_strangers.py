"""Peers that should not be there, or say what they should not, are refused and harm nobody."""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgpack
import pytest
import structlog
from helpers.peer import Peer, done, failed, manual, peer
from helpers.service import becomes, eventually, keeps_up, over, results, sweep

from bats.common.capacity.resources import Resources
from bats.common.errors import UnreachableError
from bats.common.messages import (
    AttemptId,
    BagId,
    BagSpec,
    Enroll,
    Goodbye,
    Heartbeat,
    Hello,
    Kill,
    MachineId,
    Refused,
    Request,
    Result,
    Results,
    ResultsStored,
    Returned,
    Run,
    TaskId,
    Welcome,
)
from bats.common.wire.keys import Access, new_pair, read_access
from bats.master.client import Client, connect
from bats.master.service.home import WORKER
from bats.master.service.master import Master, serving
from bats.master.service.options import Options
from bats.master.service.wire import connections

HEARTBEAT_SECONDS = 0.5  # strangers that take a task and say no more are not waited for long


@pytest.fixture
def hand(master: Master) -> Access:
    return read_access(master.home.folder / WORKER, "worker")


async def still_works(client: Client) -> None:
    bag = (await client.ask("submit", sweep=sweep(3)))["bag"]
    assert (await over(client, bag))["done"] == 3


async def test_a_client_with_a_strange_key_is_told_so(master: Master, client: Client) -> None:
    pair = new_pair()
    stranger = replace(master.access, public_key=pair.public, secret_key=pair.secret)
    with structlog.testing.capture_logs() as logs, pytest.raises(UnreachableError, match="key"):
        async with connect(stranger):
            pass
    assert [line for line in logs if line["event"] == "refused: unknown key"]
    await still_works(client)


async def test_a_master_that_is_not_there_is_named(master: Master) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nowhere = replace(master.access, master=(f"tcp://127.0.0.1:{taken.getsockname()[1]}",))
        with pytest.raises(UnreachableError, match="nothing listens"):
            async with connect(nowhere):
                pass


async def test_a_workers_key_cannot_submit(master: Master, client: Client, hand: Access) -> None:
    with structlog.testing.capture_logs() as logs:
        async with peer(hand) as worker:
            await worker.say(Request(1, "submit", {"sweep": sweep(1)}))
            refused = await worker.hear(Refused)
    assert "may not say Request" in refused.reason
    assert [line for line in logs if line["event"] == "refused"]
    assert (await client.ask("bags"))["bags"] == []
    await still_works(client)


async def test_a_clients_key_cannot_join_as_a_worker(master: Master, client: Client) -> None:
    async with peer(master.access) as liar:
        await liar.say(Hello("0", MachineId(-1), "me", 1, "host", 1, (), 0))
        assert "may not say Hello" in (await liar.hear(Refused)).reason
    assert master.snapshot()["workers"] == []


async def test_the_key_of_one_machine_cannot_speak_for_another(
    master: Master, client: Client
) -> None:
    one, two = new_pair(), new_pair()
    master.admission.admit(MachineId(1000003), one.public, ticket=True)
    master.admission.admit(MachineId(1000004), two.public, ticket=True)
    async with peer(master.access, one) as liar:
        await liar.say(Hello("0", MachineId(1000004), "me", 1, "host", 1, (), 0))
        assert "not of machine 1000004" in (await liar.hear(Refused)).reason
        await liar.say(Enroll(MachineId(1000004), new_pair().public.encode()))
        assert "another machine's" in (await liar.hear(Refused)).reason
    assert master.snapshot()["workers"] == []


async def test_a_worker_that_says_it_is_larger_than_its_ticket_is_given_no_more_than_that(
    master: Master, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(master.fleet, "start", lambda *_: None)
    offering = {**manual(), "backend": "local", "slots": 2, "memory_bytes": 1 << 30}
    bag = (await client.ask("submit", sweep=sweep(50, "sleep 9"), offerings=[offering]))["bag"]
    await becomes(client, bag, lambda status: status["state"] == "running")
    machine = (await eventually(lambda: list(master.bags.loaded[BagId(bag)].engine.alive())))[0]
    pair = new_pair()
    master.admission.admit(machine.id, pair.public, ticket=True)
    async with peer(master.access, pair) as liar:
        await liar.hello(machine.id, slots=1000, memory_bytes=1 << 50, gpus=64)
        assert len((await liar.hear(Run)).orders) == 2
        with pytest.raises(TimeoutError):
            await liar.hear(Run, 0.3)
    assert [one["slots"] for one in master.snapshot()["workers"]] == [2]
    assert master.workers.of(machine.id).size == Resources(2, 1 << 30)


async def test_a_revoked_key_is_not_listened_to_any_more(master: Master, client: Client) -> None:
    pair = new_pair()
    machine = MachineId(1000009)
    master.admission.admit(machine, pair.public, ticket=True)
    async with peer(master.access, pair) as worker:
        await worker.say(Request(1, "bags", {}))
        await worker.hear(Refused)
        before = master.inbox.refused
        master.admission.revoke(machine)
        await worker.say(Hello("0", machine, "me", 1, "host", 1, (), 0))
        await eventually(lambda: master.inbox.refused > before)
    assert master.snapshot()["workers"] == []
    await still_works(client)


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", bytes(64), os.urandom(4096)])
async def test_random_bytes_on_the_port_are_refused(
    master: Master, client: Client, garbage: bytes
) -> None:
    await still_works(client)
    with structlog.testing.capture_logs() as logs:
        reader, writer = await asyncio.open_connection("127.0.0.1", master.port)
        writer.write(garbage * 10)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await asyncio.wait_for(reader.readexactly(10**6), 15)
        writer.close()
        await still_works(client)
    assert any("does not speak our protocol" in line.get("why", "") for line in logs)


MALFORMED: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no msgpack": lambda: b"\x93\x04\xc1",
    "unknown type": lambda: msgpack.packb([99, 1]),
    "too few fields": lambda: msgpack.packb([4, 1]),
    "wrong type": lambda: msgpack.packb([4, "one", []]),
    "nan": lambda: msgpack.packb([3, [], 0, float("nan")]),
    "bomb": lambda: b"\x93\x04\x01" + struct.pack(">BI", 0xDD, 2**31),
    "too large": lambda: b"\x93\x04\x01" + bytes(5 << 20),
    "deep": lambda: b"\x93\x04" + b"\x91" * 100_000,
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_malformed_messages_are_refused_and_harm_nobody(
    master: Master, client: Client, hand: Access, name: str
) -> None:
    async with peer(hand) as worker:
        before = master.inbox.refused
        await worker.say(MALFORMED[name]())
        await eventually(lambda: master.inbox.refused > before)
        await worker.hello()  # one slip is forgiven
    await still_works(client)


async def test_strangers_who_say_nothing_are_hung_up_on_and_keep_nobody_out(
    master: Master, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_MOST_SILENT", 20)
    idle = [await asyncio.open_connection("127.0.0.1", master.port) for _ in range(60)]
    await still_works(client)
    hung_up = [asyncio.create_task(_read_to_its_end(reader)) for reader, _ in idle]
    done, _ = await asyncio.wait(hung_up, timeout=5)
    assert len(done) >= 40
    for task in hung_up:
        task.cancel()
    for _, writer in idle:
        writer.close()


async def _read_to_its_end(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(1000):
            pass


async def test_a_message_in_parts_is_refused(master: Master, client: Client, hand: Access) -> None:
    async with peer(hand) as worker:
        await worker.socket.send_multipart([b"one", b"two", b"three"])
        await eventually(lambda: master.router.malformed)
        await worker.hello()
    await still_works(client)


async def test_a_worker_that_was_silent_is_asked_anew_what_it_holds(tmp_path: Path) -> None:
    """Else what had been queued there would run there too, though it was given to others."""
    options = Options(state=tmp_path / "state", heartbeat_seconds=0.2)
    async with serving(options) as master, connect(master.access) as client:
        hand = read_access(master.home.folder / WORKER, "worker")
        async with peer(hand) as one, peer(hand) as other:
            await one.hello(slots=4)
            bag = (await client.ask("submit", sweep=sweep(4), offerings=[manual()]))["bag"]
            orders = (await one.hear(Run)).orders
            assert len(orders) == 4
            await becomes(client, bag, lambda status: not status["running"])
            await other.hello(slots=1)
            (given,) = (await other.hear(Run)).orders
            await one.say(Heartbeat((), 4, 100.0))
            refused = await one.hear(Refused)
            assert refused.retry
            holding = tuple(AttemptId(bag, order.task, order.attempt) for order in orders)
            await one.hello(slots=4, holding=holding)
            await becomes(client, bag, lambda status: status["running"] == 4)
            await other.say(Results(1, (done(bag, given.task)._replace(attempt=given.attempt),)))
            killed = (await one.hear(Kill)).attempts
            assert [attempt.task for attempt in killed] == [given.task]


async def test_a_flood_of_nonsense_does_not_starve_the_others(
    master: Master, client: Client, hand: Access
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with peer(hand) as flooder:
            flood = asyncio.create_task(_flood(flooder))
            await eventually(lambda: master.inbox.refused >= 50)
            await still_works(client)
            assert await keeps_up(client)
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)
    assert len([line for line in logs if line["event"] == "refused"]) < 60


async def _flood(flooder: Peer) -> None:
    while True:
        await flooder.say(b"\x93\x04\xc1" + bytes(1000))


async def test_a_peer_of_another_version_is_told_which_side_to_upgrade(
    master: Master, client: Client, hand: Access
) -> None:
    async with peer(hand) as worker:
        await worker.say(Hello("9", MachineId(-1), "me", 1, "h", 1, (), 0, protocol=2))
        assert "upgrade bats-scheduler on the master's side" in (await worker.hear(Refused)).reason
    async with peer(master.access) as old:
        await old.say(Request(1, "bags", {}, protocol=0))
        assert "upgrade bats-scheduler on the client's side" in (await old.hear(Refused)).reason


async def test_results_that_are_said_again_count_once(master: Master, client: Client) -> None:
    hand = read_access(master.home.folder / WORKER, "worker")
    async with peer(hand) as worker:
        machine = (await worker.hello()).machine
        offering = {**manual(), "name": "by-hand"}
        bag = (await client.ask("submit", sweep=sweep(2), offerings=[offering]))["bag"]
        spec = await worker.hear(BagSpec)
        assert spec.command == "echo {x}"
        first = await worker.hear(Run)
        said = Results(1, tuple(done(bag, order.task) for order in first.orders))
        for _ in range(3):
            await worker.say(said)
            assert (await worker.hear(ResultsStored)).serial == 1
        second = await worker.hear(Run)
        forged = Results(2, (done(bag, 10**9), *(done(bag, o.task) for o in second.orders)))
        await worker.say(forged)
        status = await over(client, bag)
        assert (status["done"], status["duplicates"]) == (2, 0)
        assert len(await results(client, bag)) == 2
        await worker.say(Heartbeat((), 0, 100.0))
        assert machine == 500_001


async def test_workers_started_by_hand_serve_one_bag_after_another(
    master: Master, client: Client, hand: Access
) -> None:
    async with peer(hand) as worker:
        welcome = await worker.hello(slots=4)
        for _ in range(2):
            bag = (await client.ask("submit", sweep=sweep(4), offerings=[manual()]))["bag"]
            run = await worker.hear(Run)
            assert len(run.orders) == 4
            await worker.say(Results(bag, tuple(done(bag, order.task) for order in run.orders)))
            status = await over(client, bag)
            assert (status["state"], status["done"]) == ("complete", 4)
            rows = await results(client, bag)
            assert {row["cluster"] for row in rows} == {"mine"}
    assert welcome.machine == 500_001


async def test_a_worker_started_by_hand_waits_while_its_bag_is_paused_and_is_taken_again(
    client: Client, hand: Access
) -> None:
    async with peer(hand) as worker:
        await worker.hello(slots=20)
        bag = (await client.ask("submit", sweep=sweep(30), offerings=[manual()]))["bag"]
        run = await worker.hear(Run)
        all_of_it = [failed(bag, order.task, order.attempt) for order in run.orders]
        await worker.say(Results(1, tuple(all_of_it)))
        await becomes(client, bag, lambda status: status["state"] == "paused")
        assert (await client.ask("resume", bag=bag))["state"] in {"queued", "running"}
        left, serial = 30, 2
        while left:
            run = await worker.hear(Run)
            told = [done(bag, order.task)._replace(attempt=order.attempt) for order in run.orders]
            await worker.say(Results(serial, tuple(told)))
            left, serial = left - len(told), serial + 1
        assert (await over(client, bag))["state"] == "complete"


async def test_what_ends_after_its_bag_counts_if_it_was_given_to_who_tells_it(
    client: Client, hand: Access
) -> None:
    async with peer(hand) as worker:
        await worker.hello()
        bag = (await client.ask("submit", sweep=sweep(3), offerings=[manual()]))["bag"]
        (order,) = (await worker.hear(Run)).orders
        await client.ask("cancel", bag=bag)
        await over(client, bag)
        following = (await client.ask("submit", sweep=sweep(1), offerings=[manual()]))["bag"]
        (next_order,) = (await worker.hear(Run)).orders  # so the first bag is forgotten
        forged = [done(bag, task) for task in range(3) if task != order.task]
        true = done(bag, order.task)._replace(wall_seconds=1e300)
        again = true._replace(attempt=2)
        told = (again, *forged, true, done(following, next_order.task))
        await worker.say(Results(1, told))
        await over(client, following)
        (row,) = await results(client, bag)
        assert (row["task"], row["attempt"], row["outcome"]) == (order.task, 1, "done")
        assert row["wall_seconds"] < 60


async def test_a_worker_that_says_it_holds_or_returns_what_it_never_had_breaks_no_bag(
    master: Master, client: Client, hand: Access
) -> None:
    bag = BagId((await client.ask("submit", sweep=sweep(4), offerings=[manual()]))["bag"])
    other = BagId((await client.ask("submit", sweep=sweep(1, "sleep 60")))["bag"])
    nonsense = tuple(
        AttemptId(of, TaskId(task), attempt)
        for of in (bag, other, BagId(99))
        for task in (0, 3, 10**9)
        for attempt in (1, 2, 65_536)
    )
    async with peer(hand) as liar:
        await liar.hello(slots=2, holding=nonsense)
        await liar.say(Returned(nonsense))
        await liar.say(Heartbeat(tuple((one, 1.0) for one in nonsense), 10**6, 1.0))
        await liar.hear(Run)
        master.bags.loaded[bag].engine.check()
        await liar.say(Goodbye("caught"))
    async with peer(hand) as honest:
        await honest.hello(slots=4, incarnation="honest")
        left, serial = {*range(4)}, 1
        while left:
            orders = [one for one in (await honest.hear(Run)).orders if one.task in left]
            told = [done(bag, one.task)._replace(attempt=one.attempt) for one in orders]
            await honest.say(Results(serial, tuple(told)))
            left, serial = left - {one.task for one in orders}, serial + 1
        assert (await over(client, bag))["state"] == "complete"
    assert (await client.ask("status", bag=other))["state"] == "running"
    await client.ask("cancel", bag=other)


async def test_an_enrolled_machine_is_known_by_its_own_key_alone(
    master: Master, client: Client
) -> None:
    bag = (await client.ask("submit", sweep=sweep(4, "sleep 0.5")))["bag"]
    await becomes(client, bag, lambda status: status.get("running", 0) > 0)
    runner = master.bags.loaded[BagId(bag)]
    machine = next(iter(runner.machines.rows))
    ticket, own = new_pair(), new_pair()
    master.admission.admit(machine, ticket.public, ticket=True)
    async with peer(master.access, ticket) as joining:
        await joining.say(Enroll(machine, own.public.encode()))
        await joining.hear(Welcome)
        assert runner.machines.rows[machine].public_key == own.public.encode()
        assert master.admission.peer(ticket.public) is None
    async with peer(master.access, own) as joined:
        await joined.say(Enroll(machine, new_pair().public.encode()))
        assert "has been used" in (await joined.hear(Refused)).reason


LIES: dict[str, Callable[[Result], Result]] = {
    "a task that waits": lambda told: told._replace(task=TaskId(3)),
    "an attempt that is not": lambda told: told._replace(attempt=7),
    "a task that is not": lambda told: told._replace(task=TaskId(99)),
    "another bag's": lambda told: told._replace(bag=BagId(2)),
    "a bag to come": lambda told: told._replace(bag=BagId(3)),
    "by its number another bag's": lambda told: told._replace(task=TaskId(1 << 40)),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_result_of_what_a_worker_was_not_given_is_not_recorded(
    master: Master, client: Client, hand: Access, lie: str
) -> None:
    """Nor is it when the bag comes that it was told of; the true results count."""
    async with peer(hand) as liar:
        await liar.hello(slots=1)
        one = (await client.ask("submit", sweep=sweep(4), offerings=[manual()]))["bag"]
        two = (await client.ask("submit", sweep=sweep(4)))["bag"]
        (order,) = (await liar.hear(Run)).orders
        told = done(one, order.task)._replace(attempt=order.attempt)
        if order.task == 3:  # it is the one that runs
            LIES["a task that waits"] = lambda told: told._replace(task=TaskId(2))
        await liar.say(Results(1, (LIES[lie](told),)))
        await liar.hear(ResultsStored)
        assert [row for bag in (one, two) for row in await results(client, bag)] == []
    await client.ask("cancel", bag=one)
    assert (await over(client, two))["done"] == 4
    assert {row["cluster"] for row in await results(client, two)} == {"here"}


@pytest.mark.parametrize("seconds", [1e300, 1e6])
async def test_no_task_ran_longer_than_by_the_masters_clock(
    master: Master, client: Client, hand: Access, seconds: float
) -> None:
    async with peer(hand) as liar:
        await liar.hello(slots=1)
        bag = (await client.ask("submit", sweep=sweep(2), offerings=[manual()]))["bag"]
        for serial in (1, 2):
            (order,) = (await liar.hear(Run)).orders
            told = done(bag, order.task)._replace(attempt=order.attempt, wall_seconds=seconds)
            await liar.say(Results(serial, (told,)))
        assert (await over(client, bag))["done"] == 2
        assert all(0 <= row["wall_seconds"] < 60 for row in await results(client, bag))
