"""Many workers in one process: each greets the master and then only sends heartbeats.

usage: crowd_worker.py ACCESS COUNT
"""

import sys
import time
from importlib.metadata import version
from pathlib import Path

import zmq

from bats.common.messages import Heartbeat, Hello, MachineId, Welcome
from bats.common.wire.codec import decode, encode
from bats.common.wire.keys import read_access
from bats.common.wire.sockets import set_up_client

_AT_ONCE = 100
_WELCOME_MS = 30_000


def main() -> None:
    access, count = read_access(Path(sys.argv[1]), "worker"), int(sys.argv[2])
    context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, count + 10)
    release = version("bats-scheduler")
    pause, beat = 5.0, encode(Heartbeat((), 0, 100.0))
    sockets: list[zmq.Socket[bytes]] = []
    began = time.monotonic()
    for number in range(count):
        if number % _AT_ONCE == 0 and sockets:
            sockets[-1].poll(_WELCOME_MS)
            if time.monotonic() > began + pause:
                began = time.monotonic()
                send_all(sockets, beat)
        socket = context.socket(zmq.DEALER)
        set_up_client(socket, access.pair, access.server_key)
        socket.setsockopt(zmq.IMMEDIATE, 0)
        socket.connect(access.master[0])
        hello = Hello(release, MachineId(-1), str(number), 1, "crowd", 1, (), 0, "hand")
        socket.send(encode(hello))
        sockets.append(socket)
    welcome = decode(sockets[-1].recv())
    pause = welcome.heartbeat_seconds if isinstance(welcome, Welcome) else pause
    while True:
        began = time.monotonic()
        send_all(sockets, beat)
        time.sleep(max(0.0, began + pause - time.monotonic()))


def send_all(sockets: "list[zmq.Socket[bytes]]", frame: bytes) -> None:
    for socket in sockets:
        socket.send(frame)


if __name__ == "__main__":
    main()
