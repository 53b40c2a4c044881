"""A worker with a valid key that floods, forges and asks without end.

usage: hostile_worker.py ACCESS SECONDS

It comes with the invitation, trades it for a key of its own, and does each of its tricks in turn,
over and over; when it is shut out it comes again with another key, as often as it is let.
"""

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import zmq

from bats.common import messages as m
from bats.common.wire.codec import CHUNK_BYTES, encode
from bats.common.wire.keys import Access, KeyPair, new_pair, read_access
from bats.common.wire.sockets import set_up_client

_SLICE_SECONDS: Final = 0.5
_ENROLL_SECONDS: Final = 3000  # ms for an answer
_serials: Final = itertools.count(1)
_Socket = zmq.Socket[bytes]


def connect(context: "zmq.Context[_Socket]", access: Access, pair: KeyPair) -> _Socket:
    socket = context.socket(zmq.DEALER)
    set_up_client(socket, pair, access.server_key)
    socket.setsockopt(zmq.MAXMSGSIZE, -1)
    socket.setsockopt(zmq.SNDTIMEO, 200)
    socket.connect(access.master[0])
    return socket


def forgeries() -> Iterator[bytes]:
    """Results of tasks that others have, with all that a message holds, and long excerpts."""
    for bag in itertools.cycle((1, 1, 2)):
        results = tuple(
            m.Result(m.BagId(bag), m.TaskId(task), 1, m.Outcome(task % 2), task % 2, 0.01,
                     0.0, 0.0, 0, 0, "FORGED" * 20, 0)
            for task in range(5_000)
        )  # fmt: skip
        yield encode(m.Results(next(_serials), results))


def nonsense() -> Iterator[bytes]:
    while True:
        yield b"\x93\x04\xc1" + os.urandom(100_000)


def wants() -> Iterator[bytes]:
    """Asks for what is there (the worker's own package may be), and for what is not."""
    while True:
        yield encode(m.WantBlob("0" * 64, 0))


def chunks() -> Iterator[bytes]:
    frame = encode(m.BlobChunk("1" * 64, 0, 1 << 40, bytes(CHUNK_BYTES)))
    while True:
        yield frame


def beats() -> Iterator[bytes]:
    running = tuple((m.AttemptId(m.BagId(1), m.TaskId(k), 1), 1.0) for k in range(5_000))
    frame = encode(m.Heartbeat(running, 0, 1.0))
    while True:
        yield frame


def one_by_one(frames: Callable[[], Iterator[bytes]]) -> Callable[[_Socket, float], None]:
    def act(socket: _Socket, ends: float) -> None:
        for frame in frames():
            if time.monotonic() > ends:
                return
            try:
                socket.send(frame)
            except zmq.Again:
                return

    return act


def giant(socket: _Socket, ends: float) -> None:
    """A message of very many large parts; all parts are the same memory here."""
    part = bytes(32 << 20)
    with contextlib.suppress(zmq.Again):
        while time.monotonic() < ends:
            socket.send_multipart([part] * 100, copy=False)
    time.sleep(_SLICE_SECONDS)


TRICKS: Final = (
    giant, one_by_one(forgeries), one_by_one(nonsense), one_by_one(wants), one_by_one(chunks),
    one_by_one(beats),
)  # fmt: skip


def enrolled(context: "zmq.Context[_Socket]", access: Access) -> KeyPair | None:
    """Another key of its own, if it is given one."""
    own = new_pair()
    with connect(context, access, access.pair) as socket:
        try:
            socket.send(encode(m.Enroll(m.MachineId(-1), own.public.encode())))
        except zmq.Again:
            return None
        return own if socket.poll(_ENROLL_SECONDS) else None


def main() -> None:
    file, ends = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    os.nice(10)  # its own processor time is not what is asked about
    context: zmq.Context[_Socket] = zmq.Context()
    tricks = itertools.cycle(TRICKS)
    while time.monotonic() < ends:
        access = read_access(file, "worker")
        own = enrolled(context, access)
        if own is None:
            time.sleep(0.2)
            continue
        print("hostile with another key", own.public[:8], flush=True)
        for _ in TRICKS:
            sockets = [connect(context, access, own) for _ in range(12)]
            hello = m.Hello("0", m.MachineId(-1), own.public, 4, "hostile", 1, (), 0, "hand")
            for socket, _ in zip(sockets, range(3), strict=False):
                try:
                    socket.send(encode(hello))
                except zmq.Again:
                    break
            next(tricks)(sockets[0], time.monotonic() + _SLICE_SECONDS)
            for socket in sockets:
                socket.close(0)
            if time.monotonic() > ends:
                break


if __name__ == "__main__":
    main()
