"""Watches connections come and go: who leaves is told of at once, who never spoke is refused.

ZeroMQ tells of a peer that does not speak its protocol only that it came and went. So a connection
that ends without a handshake and without a message of ours is taken for such a peer.

Connections are kept within bounds, too: for each key so many, and over each so many bytes that
nobody has read yet; of those that never speak, so many in all.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog
import zmq
from zmq.utils.monitor import parse_monitor_message

from bats.master.service.wire.budgets import Allowance
from bats.master.service.wire.inflow import Meter, Turns, hang_up, received
from bats.master.service.wire.log_limit import LogLimit

_LOOK_SECONDS: Final = 0.1
_LITTLE_BYTES: Final = 4 << 20
_MOST_SILENT: Final = 512  # that have had their time to speak
_MOST_JUST_COME: Final = 8192  # a fleet may come all at once, as after the master's start
_SPEAKING_SECONDS: Final = 5.0
_MOST_UNREAD_BYTES: Final = 192 << 20  # over all connections together
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
        allowance: Callable[[str], Allowance],
    ) -> None:
        self._watched = socket
        self._left = left
        self._log_limit = LogLimit()
        self._allowance = allowance
        self._routes: dict[int, bytes] = {}  # by file descriptor, of those that have spoken
        self._silent: dict[int, float] = {}  # since when, of those that have not, oldest first
        self._turns = Turns()
        self._keys: dict[int, str] = {}  # of those that have spoken
        self._of_key: dict[str, dict[int, None]] = {}  # their descriptors, oldest first
        self._meters: dict[int, Meter] = {}
        self.meters: dict[bytes, Meter] = {}  # by route, of those that have spoken
        self._explained = 0  # of the silent ones: shook hands, or were told of as refused
        self.refused = 0
        where = f"inproc://connections-{id(self)}"
        socket.monitor(where, _WATCHED)
        self._monitor = context.socket(zmq.PAIR)
        self._monitor.connect(where)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._monitor.FD, self._look)
        self._loop.call_soon(self._look)
        self._bounding = self._loop.call_later(_LOOK_SECONDS, self._bound)

    def close(self) -> None:
        self._bounding.cancel()
        self._loop.remove_reader(self._monitor.FD)
        self._watched.disable_monitor()
        self._monitor.close(0)

    def spoke(self, descriptor: int, route: bytes, key: str) -> None:
        """The first message of a connection has come."""
        self._look()  # whoever had this descriptor before has left: first hear of that
        self._routes[descriptor] = route
        self._keys[descriptor] = key
        self.meters[route] = self._meter(descriptor)
        if descriptor in self._silent:
            del self._silent[descriptor]
            self._explained -= 1
        same = self._of_key.setdefault(key, {})
        same[descriptor] = None
        if len(same) > (most := self._allowance(key).connections):
            self._refuse(f"its key has {most} others", 0)
            self.hang_up(next(iter(same)))

    def hang_up_on(self, key: str) -> None:
        for descriptor in list(self._of_key.get(key, ())):
            self.hang_up(descriptor)

    def hang_up(self, descriptor: int) -> None:
        hang_up(descriptor)
        self._silent.pop(descriptor, None)

    def _bound(self) -> None:
        """Hang up on who sends more than is read, and on the oldest of too many that are silent."""
        self._bounding = self._loop.call_later(_LOOK_SECONDS, self._bound)
        self._look()
        now, total = self._loop.time(), 0
        unread: dict[int, int] = {}
        for descriptor in self._turns.of((*self._routes, *self._silent)):
            waits = self._meter(descriptor).unread(received(descriptor), now)
            total += waits
            if waits > _LITTLE_BYTES:
                unread[descriptor] = waits
        for descriptor in sorted(unread, key=lambda one: -unread[one]):
            key = self._keys.get(descriptor, "")
            most = self._allowance(key).unread_bytes
            if unread[descriptor] > most or total > _MOST_UNREAD_BYTES:
                self._refuse("more came over it than can be read", unread[descriptor])
                self.hang_up(descriptor)
                total -= unread[descriptor]
        while len(self._silent) > _MOST_SILENT:
            oldest, since = next(iter(self._silent.items()))
            if since > now - _SPEAKING_SECONDS and len(self._silent) <= _MOST_JUST_COME:
                break
            self._refuse("too many say nothing", len(self._silent))
            self.hang_up(oldest)

    def _meter(self, descriptor: int) -> Meter:
        if (meter := self._meters.get(descriptor)) is None:
            meter = self._meters[descriptor] = Meter(self._loop.time())
        return meter

    def _look(self) -> None:
        while not self._monitor.closed:
            try:
                heard = parse_monitor_message(self._monitor.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                return
            self._take(heard["event"], int(heard["value"]))

    def _take(self, event: int, value: int) -> None:
        if event == zmq.Event.ACCEPTED:
            self._silent[value] = self._loop.time()
            self._meters.pop(value, None)
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
        self._meters.pop(descriptor, None)
        if route is not None:
            del self.meters[route]
            self._forget(descriptor)
            self._left(route)
        elif descriptor in self._silent:
            del self._silent[descriptor]
            if self._explained > 0:
                self._explained -= 1
            else:
                self._refuse("it does not speak our protocol", 0)

    def _forget(self, descriptor: int) -> None:
        key = self._keys.pop(descriptor)
        same = self._of_key[key]
        same.pop(descriptor, None)
        if not same:
            del self._of_key[key]

    def _refuse(self, why: str, code: int) -> None:
        self.refused += 1
        if self._log_limit.may_say(why):
            log.warning("refused: a connection", why=why, code=code, refused=self.refused)
