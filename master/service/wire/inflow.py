"""Inflow: the bytes that came over each connection and were not handed on yet.

ZeroMQ hands on whole messages, and bounds them by their number: a message of many parts, or many
large ones, fills the memory before anybody here has seen it. The kernel tells what came in.
"""

import ctypes
import resource
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_TCP_INFO: Final = 11
_RECEIVED: Final = struct.Struct("@Q")
_RECEIVED_AT: Final = 128  # linux/tcp.h: tcp_info.tcpi_bytes_received
_SHARE_OF_MESSAGE: Final = 100  # bytes at most that encryption and framing add to a message
_IDLE_BYTES: Final = 200  # a second at most, of pings
_AT_ONCE: Final = 500  # connections looked at in one turn, which takes a few milliseconds
_GROWN_BYTES: Final = 16 << 20
_libc: Final = ctypes.CDLL(None, use_errno=True)


class Meter:
    """The meter of one connection."""

    __slots__ = ("_at", "_handed_on")

    def __init__(self, now: float) -> None:
        self._at = now
        self._handed_on = 0.0

    def hand_on(self, size: int) -> None:
        self._handed_on += size + _SHARE_OF_MESSAGE

    def unread(self, received: int, now: float) -> int:
        """The bytes that wait; nothing is saved up by who sends less than it might."""
        self._handed_on += (now - self._at) * _IDLE_BYTES
        self._at = now
        self._handed_on = min(self._handed_on, received)
        return int(received - self._handed_on)


class Turns:
    """The connections to look at: all, while they are few or the memory grows; else some in turn.

    What comes and is not read fills the memory, whoever it comes from.
    """

    def __init__(self, memory: Callable[[], int] | None = None) -> None:
        self._memory = memory or resident_bytes
        self._known = 0  # at the last look at all, or less since
        self._next = 0

    def of(self, everyone: Sequence[int]) -> Sequence[int]:
        if len(everyone) <= _AT_ONCE:
            return everyone
        memory = self._memory()
        self._known = min(self._known, memory)
        if memory > self._known + _GROWN_BYTES:
            self._known = memory
            return everyone
        begin = self._next % len(everyone)
        self._next = begin + _AT_ONCE
        return (
            *everyone[begin : begin + _AT_ONCE],
            *everyone[: max(0, self._next - len(everyone))],
        )


def resident_bytes() -> int:
    """The memory of this process."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def received(descriptor: int) -> int:
    """The bytes that came over a TCP connection so far; 0 of what is none, or where none tells."""
    told, size = ctypes.create_string_buffer(_RECEIVED_AT + 8), ctypes.c_uint32(_RECEIVED_AT + 8)
    failed = _libc.getsockopt(descriptor, socket.IPPROTO_TCP, _TCP_INFO, told, ctypes.byref(size))
    if failed or size.value < _RECEIVED_AT + 8:
        return 0
    return int(_RECEIVED.unpack_from(told, _RECEIVED_AT)[0])


def hang_up(descriptor: int) -> None:
    """End a connection that ZeroMQ holds; it sees that its peer has left."""
    _libc.shutdown(descriptor, socket.SHUT_RDWR)
