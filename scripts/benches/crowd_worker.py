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
from bats.common.wire.link import set_up_client


def main() -> None:
    access, count = read_access(Path(sys.argv[1]), "worker"), int(sys.argv[2])
    context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, count + 10)
    release = version("bats-scheduler")
    sockets = []
    for number in range(count):
        socket = context.socket(zmq.DEALER)
        set_up_client(socket, access.pair, access.server_key)
        socket.setsockopt(zmq.IMMEDIATE, 0)
        socket.connect(access.master[0])
        hello = Hello(release, MachineId(-1), str(number), 1, "crowd", 1, (), 0, "hand")
        socket.send(encode(hello))
        sockets.append(socket)
    welcome = decode(sockets[-1].recv())
    pause = welcome.heartbeat_seconds if isinstance(welcome, Welcome) else 5.0
    beat = encode(Heartbeat((), 0, 100.0))
    while True:
        began = time.monotonic()
        for socket in sockets:
            socket.send(beat)
        time.sleep(max(0.0, began + pause - time.monotonic()))


if __name__ == "__main__":
    main()
