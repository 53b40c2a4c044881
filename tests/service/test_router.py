"""The master's one socket: what comes is heard in order, what a slow peer does not take is kept."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import zmq
import zmq.asyncio
from helpers.service import eventually

from bats.common.errors import UsageError
from bats.common.wire.keys import KeyPair, new_pair
from bats.common.wire.sockets import set_up_client
from bats.master.service.wire import router as module
from bats.master.service.wire.authenticator import Authenticator
from bats.master.service.wire.router import Heard, Router


class Bench:
    """A router that lets in everybody, and peers of it."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.batches: list[int] = []
        self.lost: list[bytes] = []
        self.pair = new_pair()
        self._context: zmq.Context[Any] = zmq.Context()
        self._theirs = zmq.asyncio.Context()
        self._peers: list[zmq.asyncio.Socket] = []
        self._door = Authenticator(self._context, lambda _key: True)
        self.router = Router(self._context, self.pair)
        self.port = self.router.bind("127.0.0.1", 0)
        self.router.serve(self._hear, self.lost.append)

    def _hear(self, batch: list[Heard]) -> None:
        self.batches.append(len(batch))
        self.heard += batch

    def peer(self, **options: int) -> tuple[KeyPair, "zmq.asyncio.Socket"]:
        pair, socket = new_pair(), self._theirs.socket(zmq.DEALER)
        set_up_client(socket, pair, self.pair.public)
        for name, value in options.items():
            socket.setsockopt(getattr(zmq, name), value)
        socket.connect(f"tcp://127.0.0.1:{self.port}")
        self._peers.append(socket)
        return pair, socket

    def frames(self) -> list[bytes]:
        return [bytes(one.frame) for one in self.heard]

    def close(self) -> None:
        for peer in self._peers:
            peer.close(0)
        self._theirs.term()
        self.router.close()
        self._door.close()
        self._context.term()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    made.close()


async def test_what_a_peer_says_is_heard_in_its_order_with_the_key_that_it_has(bench: Bench):
    pair, peer = bench.peer()
    for number in range(500):
        await peer.send(b"%d" % number)
    await eventually(lambda: len(bench.heard) == 500)
    assert bench.frames() == [b"%d" % number for number in range(500)]
    assert {one.key for one in bench.heard} == {pair.public}
    assert max(bench.batches) > 1, "several messages of a turn are one batch"


async def test_an_answer_goes_to_who_asked(bench: Bench):
    (_, first), (_, second) = bench.peer(), bench.peer()
    await first.send(b"first")
    await second.send(b"second")
    await eventually(lambda: len(bench.heard) == 2)
    for one in bench.heard:
        bench.router.send(one.route, b"you are the " + bytes(one.frame))
    async with asyncio.timeout(5):
        assert await first.recv() == b"you are the first"
        assert await second.recv() == b"you are the second"


async def test_what_a_peer_does_not_read_is_kept_and_comes_in_order(bench: Bench):
    _, peer = bench.peer(RCVHWM=1)
    await peer.send(b"here I am")
    await eventually(lambda: bench.heard)
    route, large = bench.heard[0].route, b"x" * 100_000
    for number in range(400):
        bench.router.send(route, b"%d " % number + large)
    _, other = bench.peer()
    await other.send(b"and I")  # is served meanwhile
    await eventually(lambda: b"and I" in bench.frames())
    got = []
    async with asyncio.timeout(30):
        while len(got) < 400:
            got.append(int((await peer.recv()).partition(b" ")[0]))
    assert got == list(range(400))


async def test_a_peer_that_never_reads_is_given_up_before_it_fills_the_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_MOST_UNSENT_BYTES", 1 << 20)
    _, peer = bench.peer(RCVHWM=1)
    await peer.send(b"here I am")
    await eventually(lambda: bench.heard)
    route = bench.heard[0].route
    for _ in range(400):
        bench.router.send(route, b"x" * 100_000)
        if bench.lost:
            break
        await asyncio.sleep(0)
    await eventually(lambda: route in bench.lost)


async def test_who_hangs_up_is_told_of_at_once(bench: Bench):
    _, peer = bench.peer()
    await peer.send(b"here I am")
    await eventually(lambda: bench.heard)
    peer.close(0)
    await eventually(lambda: bench.lost == [bench.heard[0].route])


async def test_a_message_in_parts_is_counted_and_not_handed_on(bench: Bench):
    _, peer = bench.peer()
    await peer.send_multipart([b"one", b"two"])
    await peer.send(b"whole")
    await eventually(lambda: bench.heard)
    assert bench.frames() == [b"whole"]
    assert bench.router.malformed == 1


async def test_a_port_that_is_taken_is_told_with_what_to_do(bench: Bench):
    other = Bench()
    try:
        with pytest.raises(UsageError, match=f"Cannot listen on 127.0.0.1 port {bench.port}: .*"
                           "Choose another with `--bind` and `--port`"):  # fmt: skip
            other.router.bind("127.0.0.1", bench.port)
    finally:
        other.close()
