"""The master's one socket: everything that has come is handed on at once, in one batch.

A plain socket watched through its file descriptor: `zmq.asyncio` costs a task per message. The
descriptor only tells that something changed, so after sending, too, the socket itself is asked.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import structlog
import zmq

from bats.common.errors import UsageError
from bats.common.wire.keys import KeyPair
from bats.common.wire.sockets import set_up_server
from bats.master.service.wire.budgets import UNKNOWN, Allowance
from bats.master.service.wire.connections import Connections
from bats.master.service.wire.log_limit import LogLimit

_AT_ONCE: Final = 256  # messages per turn, and so many seconds of reading at most
_TURN_SECONDS: Final = 0.01
_MOST_UNSENT_BYTES: Final = 256 << 20  # for one peer that does not read; then it is given up
_AGAIN_SECONDS: Final = 0.02

# As numbers: to combine two of pyzmq's flags takes as long as to send a message.
_POLLIN: Final = int(zmq.POLLIN)
_NOBLOCK: Final = int(zmq.NOBLOCK)
_NOBLOCK_MORE: Final = int(zmq.NOBLOCK | zmq.SNDMORE)

log = structlog.get_logger()


class Heard(NamedTuple):
    route: bytes  # of the connection, given by ZeroMQ: no peer can take another's
    key: str  # the public key that the connection was admitted with
    frame: memoryview


class Router:
    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        pair: KeyPair,
        allowance: Callable[[str], Allowance] = lambda _: UNKNOWN,
    ) -> None:
        self._hear: Callable[[list[Heard]], None] = lambda _: None  # nothing is read before `serve`
        self._lost: Callable[[bytes], None] = lambda _: None
        self._loop = asyncio.get_running_loop()
        self._log_limit = LogLimit()
        self._scheduled = False
        self._routes: set[bytes] = set()  # of connections that have spoken
        self._unsent: dict[bytes, deque[bytes]] = {}
        self._unsent_bytes: dict[bytes, int] = {}
        self._sent = asyncio.Event()  # replaced each time something was
        self._retrying: asyncio.TimerHandle | None = None
        self.messages = self.malformed = 0
        self._socket = context.socket(zmq.ROUTER)
        set_up_server(self._socket, pair)
        self.connections = Connections(context, self._socket, self._hung_up, allowance)

    def bind(self, host: str, port: int) -> int:
        """Let peers connect; the port, which is another one when 0 was asked for."""
        where = f"[{host}]" if ":" in host.strip("[]") else host
        try:
            self._socket.bind(f"tcp://{where}:{port or '*'}")
        except zmq.ZMQError as error:
            raise UsageError(
                f"Cannot listen on {host} port {port}: {error.strerror}. "
                "Choose another with `--bind` and `--port`."
            ) from None
        endpoint = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        return int(endpoint.rpartition(":")[2])

    def serve(self, hear: Callable[[list[Heard]], None], lost: Callable[[bytes], None]) -> None:
        """Begin to read: `hear` gets what came in a turn, `lost` routes that prove to be gone."""
        self._hear, self._lost = hear, lost
        self._loop.add_reader(self._socket.FD, self._turn)
        self._loop.call_soon(self._turn)

    def close(self) -> None:
        self._loop.remove_reader(self._socket.FD)
        if self._retrying:
            self._retrying.cancel()
        self.connections.close()
        self._socket.close(200)

    # --- sending ----------------------------------------------------------------------------------

    def send(self, route: bytes, frame: bytes) -> None:
        """Never blocks: what a slow peer does not take yet is kept and sent later, in order."""
        if self._socket.closed:
            return
        if route in self._unsent or not self._put(route, frame):
            self._keep(route, frame)
        if not self._scheduled and self._readable():
            self._again()

    async def room(self, route: bytes, size: int) -> None:
        """Returns when less than so many bytes wait for this peer: for who sends it much."""
        while self._unsent_bytes.get(route, 0) > size:
            sent = self._sent
            await sent.wait()

    def unsent_bytes(self, route: bytes) -> int:
        """The bytes that wait for this peer to take them."""
        return self._unsent_bytes.get(route, 0)

    def forget(self, route: bytes) -> None:
        self._unsent.pop(route, None)
        self._unsent_bytes.pop(route, None)

    def _put(self, route: bytes, frame: bytes) -> bool:
        """False when the peer does not take more now."""
        try:
            self._socket.send(route, _NOBLOCK_MORE)
            self._socket.send(frame, _NOBLOCK)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            self.forget(route)
            self._loop.call_soon(self._hung_up, route)
        return True

    def _keep(self, route: bytes, frame: bytes) -> None:
        waiting = self._unsent.setdefault(route, deque())
        waiting.append(frame)
        size = self._unsent_bytes[route] = self._unsent_bytes.get(route, 0) + len(frame)
        if size > _MOST_UNSENT_BYTES:
            log.warning("peer given up: it does not read what it is sent", bytes=size)
            self.forget(route)
            self._loop.call_soon(self._hung_up, route)
        elif self._retrying is None:
            self._retrying = self._loop.call_later(_AGAIN_SECONDS, self._retry)

    def _retry(self) -> None:
        self._retrying = None
        for route in list(self._unsent):
            waiting = self._unsent[route]
            while waiting and self._put(route, waiting[0]):
                if route not in self._unsent:
                    break
                self._unsent_bytes[route] -= len(waiting.popleft())
            if not waiting:
                self.forget(route)
        self._sent.set()
        self._sent = asyncio.Event()
        if self._unsent:
            self._retrying = self._loop.call_later(_AGAIN_SECONDS, self._retry)
        if not self._scheduled and self._readable():
            self._again()

    # --- hearing ----------------------------------------------------------------------------------

    def _readable(self) -> bool:
        return bool(int(self._socket.getsockopt(zmq.EVENTS)) & _POLLIN)

    def _again(self) -> None:
        self._scheduled = True
        self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        if self._socket.closed:
            return
        heard: list[Heard] = []
        ends = time.perf_counter() + _TURN_SECONDS
        receive, meters = self._socket.recv, self.connections.meters
        try:
            while len(heard) < _AT_ONCE:
                route = receive(_NOBLOCK)
                frame: Any = receive(_NOBLOCK, copy=False, track=False)
                if route not in self._routes:
                    self._routes.add(route)
                    self.connections.spoke(frame.get(zmq.SRCFD), route, frame.get("User-Id"))
                if meter := meters.get(route):
                    meter.hand_on(len(frame))
                if frame.more:
                    self._skip(route, frame)
                    continue
                heard.append(Heard(route, frame.get("User-Id"), frame.buffer))
                if time.perf_counter() > ends:
                    break
            self._again()
        except zmq.Again:
            pass
        if heard:
            self.messages += len(heard)
            self._hear(heard)

    def _hung_up(self, route: bytes) -> None:
        self._routes.discard(route)
        self._lost(route)

    def _skip(self, route: bytes, frame: Any) -> None:
        """No message of ours has parts."""
        self.malformed += 1
        key = frame.get("User-Id")
        while frame.more:
            frame = self._socket.recv(zmq.NOBLOCK, copy=False)
        if self._log_limit.may_say(route):
            log.warning("refused: a message in parts", key=key[:8], malformed=self.malformed)
