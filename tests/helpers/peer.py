"""A peer that speaks the protocol by hand, as a worker or a client does that is not ours."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import zmq
import zmq.asyncio

from bats.common.messages import AttemptId, BagId, Hello, MachineId, Result, TaskId, Welcome
from bats.common.wire.codec import decode, encode
from bats.common.wire.keys import Access, KeyPair
from bats.common.wire.sockets import set_up_client


class Peer:
    """Speaks the protocol by hand."""

    def __init__(self, socket: zmq.asyncio.Socket) -> None:
        self.socket = socket
        self.passed_over: list[Any] = []

    async def say(self, message: Any) -> None:
        await self.socket.send(message if isinstance(message, bytes) else encode(message))

    async def hear(self, kind: type[Any], seconds: float = 10.0) -> Any:
        """The next message of that kind; others are kept for later."""
        for message in self.passed_over:
            if isinstance(message, kind):
                self.passed_over.remove(message)
                return message
        async with asyncio.timeout(seconds):
            while not isinstance(message := decode(await self.socket.recv()), kind):
                self.passed_over.append(message)
        return message

    async def hello(
        self, machine: int = -1, slots: int = 1, holding: tuple[AttemptId, ...] = (), **more: Any
    ) -> Welcome:
        name = more.pop("incarnation", "me")
        await self.say(Hello("0", MachineId(machine), name, slots, "host", 1, holding, 0, **more))
        welcome: Welcome = await self.hear(Welcome)
        return welcome


@asynccontextmanager
async def peer(access: Access, pair: KeyPair | None = None) -> AsyncIterator[Peer]:
    context = zmq.asyncio.Context()
    dealer = context.socket(zmq.DEALER)
    set_up_client(dealer, pair or access.pair, access.server_key)
    dealer.connect(access.master[0])
    try:
        yield Peer(dealer)
    finally:
        dealer.close(0)
        context.term()


def manual() -> dict[str, Any]:
    return {
        "name": "mine",
        "price": 0,
        "atu_seconds": 3600.0,
        "max_machines": 9,
        "backend": "manual",
    }


def failed(bag: int, task: int, attempt: int) -> Result:
    no = "exit code 1: no"
    return Result(BagId(bag), TaskId(task), attempt, 1, 1, 0.01, 0.0, 0.0, 100, 0, no, 0)


def done(bag: int, task: int) -> Result:
    return Result(BagId(bag), TaskId(task), 1, 0, 0, 0.01, 0.0, 0.0, 100, 0, "", 0)
