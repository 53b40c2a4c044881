"""Many workers in one process: each greets the master and then only sends heartbeats."""

import sys
import time
from pathlib import Path

import zmq

from bats.common.codec import encode
from bats.common.keys import read_access
from bats.common.link import set_up_client
from bats.common.messages import Heartbeat, Hello, MachineId


def main() -> None:
    access, count = read_access(Path(sys.argv[1]), "worker"), int(sys.argv[2])
    context = zmq.Context()
    context.set(zmq.MAX_SOCKETS, count + 10)
    sockets = []
    for number in range(count):
        socket = context.socket(zmq.DEALER)
        set_up_client(socket, access.pair, access.server_key)
        socket.connect(access.master[0])
        socket.send(encode(Hello("0", MachineId(-1), str(number), 1, "crowd", 1, (), 0)))
        sockets.append(socket)
    beat = encode(Heartbeat((), 0, 100.0))
    while True:
        time.sleep(1.0)
        for socket in sockets:
            socket.send(beat)


if __name__ == "__main__":
    main()
