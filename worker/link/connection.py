"""The worker's end of the link: one encrypted DEALER at a time, to one of the master's addresses.

A plain socket watched through its file descriptor costs a third of `zmq.asyncio` per message. The
descriptor only tells that something changed (it is edge-triggered), so after each wake and each
send the socket itself is asked.

ZeroMQ reconnects by itself; its monitor says when, for each new connection starts with Hello.
"""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Final, Protocol

import structlog
import zmq
from zmq.utils.monitor import parse_monitor_message

from bats.common.wire.keys import KeyPair
from bats.common.wire.sockets import set_up_client

_WATCHED: Final = (
    zmq.Event.HANDSHAKE_SUCCEEDED
    | zmq.Event.HANDSHAKE_FAILED_AUTH
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.DISCONNECTED
)
_TRY_SECONDS: Final = 3.0  # one address, before the next is tried; grows
_TRY_LONGEST_SECONDS: Final = 20.0
_DENIED_SECONDS: Final = 0.2  # before a key is tried again; doubles
_DENIED_LONGEST_SECONDS: Final = 10.0
_AT_ONCE: Final = 100  # messages per wake, so that task ends are not kept waiting

_POLLIN: Final = int(zmq.POLLIN)  # pyzmq's own takes long to combine

log = structlog.get_logger()


class Listener(Protocol):
    def on_up(self) -> None:
        """A new connection: say Hello."""

    def on_down(self) -> None: ...

    def on_denied(self) -> KeyPair:
        """The master does not admit this key (any more, or yet); the one to try next."""

    def on_frame(self, frame: bytes) -> None: ...


class Connection:
    def __init__(
        self, addresses: Sequence[str], server_key: str, pair: KeyPair, listener: Listener
    ) -> None:
        self._addresses = list(addresses)
        self._server_key = server_key
        self._pair = pair
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._context = zmq.Context()
        self._tries = 0
        self._denials = 0
        self._timer: asyncio.TimerHandle | None = None
        self._watches = count()
        self._opened = False
        self._draining = False
        self.up = False
        self._open()

    def use(self, pair: KeyPair) -> None:
        """Be known by another key from now on; takes a new connection."""
        self._pair = pair
        self.again()

    def again(self) -> None:
        """Drop the connection and make a new one; asked too late, do nothing."""
        if not self._context.closed:
            self._close()
            self._open()

    def send(self, frame: bytes) -> bool:
        """False when there is no connection, or the master does not take more now."""
        if not self.up:
            return False
        try:
            self._socket.send(frame, zmq.NOBLOCK)
        except zmq.Again:  # it does not read; what was said is lost, so begin anew with Hello
            self._set_up(False)
            self._loop.call_soon(self.again)
            return False
        self._poke()
        return True

    def close(self, linger_seconds: float = 0.0) -> None:
        if self._opened:
            self._socket.setsockopt(zmq.LINGER, round(linger_seconds * 1000))
        self._close()
        self._context.term()

    def _open(self) -> None:
        address = self._addresses[self._tries % len(self._addresses)]
        self._socket = self._context.socket(zmq.DEALER)
        set_up_client(self._socket, self._pair, self._server_key)
        watch = f"inproc://monitor-{next(self._watches)}"
        self._socket.monitor(watch, _WATCHED)
        self._monitor = self._context.socket(zmq.PAIR)
        self._monitor.setsockopt(zmq.LINGER, 0)
        self._monitor.connect(watch)
        self._socket.connect(address)
        self._opened = True
        self._files = [self._socket.FD, self._monitor.FD]
        self._loop.add_reader(self._files[0], self._drain)
        self._loop.add_reader(self._files[1], self._notice)
        self._loop.call_soon(self._notice)
        self._plan_next()

    def _close(self) -> None:
        if not self._opened:
            return
        self._opened = False
        if self._timer:
            self._timer.cancel()
            self._timer = None
        for file in self._files:
            self._loop.remove_reader(file)
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close()
        self._set_up(False)

    def _next(self) -> None:
        self._timer = None
        if not self.up:
            self._tries += 1
            self.again()

    def _set_up(self, up: bool) -> None:
        was, self.up = self.up, up
        if up:
            if self._timer:
                self._timer.cancel()
                self._timer = None
            self._denials = 0
            self._listener.on_up()
        elif was:
            self._listener.on_down()
            if self._opened:
                self._plan_next()

    def _plan_next(self) -> None:
        """A single address is tried again and again by ZeroMQ itself."""
        if len(self._addresses) > 1 and self._timer is None:
            rounds = self._tries // len(self._addresses)
            seconds = min(_TRY_SECONDS * 2**rounds, _TRY_LONGEST_SECONDS)
            self._timer = self._loop.call_later(seconds, self._next)

    def _denied(self) -> None:
        """ZeroMQ does not try again by itself after that."""
        self._pair = self._listener.on_denied()
        seconds = min(_DENIED_SECONDS * 2**self._denials, _DENIED_LONGEST_SECONDS)
        self._denials = min(self._denials + 1, 10)
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._next)

    def _poke(self) -> None:
        """Sending may have used up the descriptor's edge."""
        if not self._draining and int(self._socket.getsockopt(zmq.EVENTS)) & _POLLIN:
            self._draining = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        self._draining = False
        socket = self._socket
        if socket.closed:  # since this was planned
            return
        for _ in range(_AT_ONCE):
            try:
                frame = socket.recv(zmq.NOBLOCK)
                while socket.getsockopt(zmq.RCVMORE):  # no message of ours has parts
                    frame = b""
                    socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                self._listener.on_frame(frame)
            except Exception:  # whatever one message led to, the next must be heard
                log.exception("message not handled")
            if self._socket is not socket or socket.closed:
                return
        self._draining = True
        self._loop.call_soon(self._drain)

    def _notice(self) -> None:
        monitor = self._monitor
        while not monitor.closed:
            try:
                heard = parse_monitor_message(monitor.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                return
            event, value = heard["event"], heard["value"]
            if event == zmq.Event.HANDSHAKE_SUCCEEDED:
                self._set_up(True)
            elif event == zmq.Event.DISCONNECTED:
                self._set_up(False)
            elif event != zmq.Event.HANDSHAKE_FAILED_PROTOCOL or value:
                self._denied()
