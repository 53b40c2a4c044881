"""Watches connections come and go: who leaves is told of at once, who never spoke is refused.

ZeroMQ tells of a peer that does not speak its protocol only that it came and went. So a connection
that ends without a handshake and without a message of ours is taken for such a peer.
"""

import asyncio
import struct
from collections.abc import Callable
from typing import Final

import structlog
import zmq

from bats.master.service.wire.log_limit import LogLimit

_EVENT: Final = struct.Struct("=HI")
_FAILED: Final = (
    zmq.Event.HANDSHAKE_FAILED_AUTH
    | zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
)
_WATCHED: Final = (
    _FAILED
    | zmq.Event.ACCEPTED
    | zmq.Event.ACCEPT_FAILED
    | zmq.Event.HANDSHAKE_SUCCEEDED
    | zmq.Event.DISCONNECTED
)

log = structlog.get_logger()


class Connections:
    """`left` gets the route of each connection that is no more."""

    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        socket: "zmq.Socket[bytes]",
        left: Callable[[bytes], None],
    ) -> None:
        self._watched = socket
        self._left = left
        self._log_limit = LogLimit()
        self._routes: dict[int, bytes] = {}  # by file descriptor, of those that have spoken
        self._silent: set[int] = set()  # descriptors of those that have not
        self._explained = 0  # of the silent ones: shook hands, or were told of as refused
        self.refused = 0
        where = f"inproc://connections-{id(self)}"
        socket.monitor(where, _WATCHED)
        self._monitor = context.socket(zmq.PAIR)
        self._monitor.connect(where)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._monitor.FD, self._look)
        self._loop.call_soon(self._look)

    def close(self) -> None:
        self._loop.remove_reader(self._monitor.FD)
        self._watched.disable_monitor()
        self._monitor.close(0)

    def spoke(self, descriptor: int, route: bytes) -> None:
        """The first message of a connection has come."""
        self._look()  # whoever had this descriptor before has left: first hear of that
        self._routes[descriptor] = route
        if descriptor in self._silent:
            self._silent.discard(descriptor)
            self._explained -= 1

    def _look(self) -> None:
        while not self._monitor.closed:
            try:
                what, _ = self._monitor.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._take(*_EVENT.unpack(what))

    def _take(self, event: int, value: int) -> None:
        if event == zmq.Event.ACCEPTED:
            self._silent.add(value)
        elif event == zmq.Event.HANDSHAKE_SUCCEEDED:
            self._explained += 1
        elif event == zmq.Event.DISCONNECTED:
            self._gone(value)
        elif event & _FAILED:
            self._explained += 1
            if event != zmq.Event.HANDSHAKE_FAILED_AUTH:  # the authenticator tells of that one
                self._refuse("its handshake failed", value)
        elif event == zmq.Event.ACCEPT_FAILED:
            self._refuse("it could not be accepted: too many open files?", value)

    def _gone(self, descriptor: int) -> None:
        route = self._routes.pop(descriptor, None)
        if route is not None:
            self._left(route)
        elif descriptor in self._silent:
            self._silent.discard(descriptor)
            if self._explained > 0:
                self._explained -= 1
            else:
                self._refuse("it does not speak our protocol", 0)

    def _refuse(self, why: str, code: int) -> None:
        self.refused += 1
        if self._log_limit.may_say(why):
            log.warning("refused: a connection", why=why, code=code, refused=self.refused)
