"""The smallest real master, for trying back ends: admits the tickets it writes, welcomes, runs.

It speaks the true protocol over the true encrypted link, and decides nothing.
"""

import asyncio
import itertools
from collections import defaultdict
from dataclasses import replace
from typing import Any, Final, Self

import zmq
import zmq.asyncio
from zmq.auth.asyncio import AsyncioAuthenticator

from bats.common.messages import (
    BagId,
    BagSpec,
    Enroll,
    Goodbye,
    Heartbeat,
    Hello,
    Lease,
    MachineId,
    Order,
    Result,
    Results,
    ResultsStored,
    Run,
    Stop,
    TaskId,
    Welcome,
)
from bats.common.release import release
from bats.common.ticket import Ticket
from bats.common.wire import sockets
from bats.common.wire.codec import decode, encode
from bats.common.wire.keys import new_pair

HEARTBEAT_SECONDS: Final = 1.0


class Endpoint:
    """Used as `async with Endpoint() as master`; what workers say is waited for, never polled."""

    def __init__(
        self, reach: str = "127.0.0.1", *, listen: str = "", lease_seconds: float = 60.0
    ) -> None:
        self._lease_seconds = lease_seconds
        self._pair = new_pair()
        self._machines_by_key: dict[str, MachineId] = {}
        self._numbers = itertools.count(1)
        self._routes: dict[MachineId, bytes] = {}
        self._hellos: dict[MachineId, Hello] = {}
        self._goodbyes: dict[MachineId, str] = {}
        self._results: dict[MachineId, list[Result]] = defaultdict(list)
        self._news = asyncio.Condition()
        self.silent = False  # as if frozen: hears, and says nothing
        self._context = zmq.asyncio.Context()
        self._authenticator = AsyncioAuthenticator(self._context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(
            sockets.ZAP_DOMAIN.decode(), credentials_provider=self
        )
        self._socket = self._context.socket(zmq.ROUTER)
        sockets.set_up_server(self._socket, self._pair)
        port = self._socket.bind_to_random_port(f"tcp://{listen or reach}")
        self.address = f"tcp://{reach}:{port}"
        self._hearing = asyncio.create_task(self._hear())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)
        self._authenticator.stop()
        self._socket.close()
        self._context.term()

    def ticket(self, *, slots: int = 1, lease_seconds: float = 60.0) -> Ticket:
        """A ticket for a machine of its own, with a key admitted for that machine alone."""
        machine, pair = MachineId(next(self._numbers)), new_pair()
        self._machines_by_key[pair.public] = machine
        return Ticket(
            machine=machine,
            master=(self.address,),
            server_key=self._pair.public,
            public_key=pair.public,
            secret_key=pair.secret,
            slots=slots,
            lease_seconds=lease_seconds,
        )

    def has_joined(self, machine: MachineId) -> bool:
        return machine in self._hellos

    async def joined(self, machine: MachineId, within_seconds: float) -> Hello:
        await self._until(lambda: machine in self._hellos, within_seconds, f"{machine} joins")
        return self._hellos[machine]

    def forget(self, machine: MachineId) -> None:
        """Forget a machine whose connection is broken: `joined` means its next Hello."""
        del self._hellos[machine]

    async def left(self, machine: MachineId, within_seconds: float) -> str:
        await self._until(lambda: machine in self._goodbyes, within_seconds, f"{machine} leaves")
        return self._goodbyes[machine]

    async def run(self, machine: MachineId, command: str, within_seconds: float) -> Result:
        """Have a shell command executed there, as the only task of a bag."""
        bag = BagId(len(self._results[machine]) + 1)
        await self._send(machine, BagSpec(bag, (), command=command, tasks=1))
        await self._send(machine, Run(bag, (Order(TaskId(0), 1, ()),)))
        await self._until(
            lambda: len(self._results[machine]) >= bag, within_seconds, f"`{command}` ends"
        )
        return self._results[machine][-1]

    async def dismiss(self, machine: MachineId) -> None:
        """Say over the link, not through the back end, that it should stop."""
        await self._send(machine, Stop("the test is over"))

    def callback(self, _domain: str, key: bytes) -> bool:
        """True if the authenticator admits this key."""
        return key.decode() in self._machines_by_key

    async def _hear(self) -> None:
        while True:
            route, frame = await self._socket.recv_multipart(copy=False)
            key = frame.get("User-Id")
            machine = self._machines_by_key.get(str(key))
            if machine is None:
                continue
            self._routes[machine] = route.bytes
            await self._take(machine, decode(frame.bytes))

    async def _take(self, machine: MachineId, message: Any) -> None:
        match message:
            case Hello():
                self._hellos[machine] = replace(message, machine=machine)
                await self._send(machine, self._welcome())
            case Enroll(public_key=key):
                self._machines_by_key[key.decode()] = machine
                await self._send(machine, self._welcome())
            case Heartbeat():
                await self._send(machine, Lease(self._lease_seconds))
            case Results(serial=serial, results=results):
                self._results[machine].extend(results)
                await self._send(machine, ResultsStored(serial))
            case Goodbye(reason=reason):
                self._goodbyes[machine] = reason
        async with self._news:
            self._news.notify_all()

    def _welcome(self) -> Welcome:
        return Welcome(release(), HEARTBEAT_SECONDS, self._lease_seconds)

    async def _send(self, machine: MachineId, message: Any) -> None:
        if not self.silent:
            await self._socket.send_multipart([self._routes[machine], encode(message)])

    async def _until(self, happened: Any, within_seconds: float, what: str) -> None:
        try:
            async with asyncio.timeout(within_seconds), self._news:
                await self._news.wait_for(happened)
        except TimeoutError:
            raise AssertionError(f"{within_seconds:g} s passed before {what}") from None
