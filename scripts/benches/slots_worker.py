"""Many machines of one slot in one process, whose tasks last a while and end at all times.

usage: slots_worker.py ACCESS COUNT SECONDS FILE

To the file it writes, line by line, the seconds from each result to the next order for its machine.
"""

import heapq
import random
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

import zmq

from bats.common import messages as m
from bats.common.wire.codec import decode, encode
from bats.common.wire.keys import Access, read_access
from bats.common.wire.sockets import set_up_client

_AT_ONCE = 100
_WELCOME_MS = 30_000
_LONGEST_POLL_SECONDS = 0.5
_BEAT_SECONDS = 2.0


class Machine:
    """One slot: what it runs, and what waits there."""

    def __init__(self, socket: "zmq.Socket[bytes]") -> None:
        self.socket = socket
        self.serial = 0
        self.waiting: list[m.AttemptId] = []
        self.runs: m.AttemptId | None = None
        self.free_since: float | None = None  # None: it has had no task, or runs one

    def result(self, seconds: float) -> bytes:
        assert self.runs is not None
        bag, task, attempt = self.runs
        self.runs, self.serial = None, self.serial + 1
        one = m.Result(bag, task, attempt, m.Outcome.DONE, 0, seconds, 0.0, 0.0, 0, 0, "", 0)
        return encode(m.Results(self.serial, (one,)))


class Crowd:
    def __init__(self, seconds: float, waits: TextIO) -> None:
        self._seconds = seconds
        self._waits = waits
        self._machines: dict[zmq.Socket[bytes], Machine] = {}
        self._poller = zmq.Poller()
        self._rng = random.Random(1)
        self._ends: list[tuple[float, int, Machine]] = []

    def greet(self, access: Access, count: int) -> None:
        context = zmq.Context()
        context.set(zmq.MAX_SOCKETS, count + 10)
        release = version("bats-scheduler")
        socket: zmq.Socket[bytes] | None = None
        for number in range(count):
            if socket is not None and number % _AT_ONCE == 0:
                socket.poll(_WELCOME_MS)
            socket = context.socket(zmq.DEALER)
            set_up_client(socket, access.pair, access.server_key)
            socket.setsockopt(zmq.IMMEDIATE, 0)
            socket.connect(access.master[0])
            hello = m.Hello(release, m.MachineId(-1), str(number), 1, "slots", 1, (), 0, "hand")
            socket.send(encode(hello))
            self._poller.register(socket, zmq.POLLIN)
            self._machines[socket] = Machine(socket)

    def serve(self) -> None:
        beat, beaten = encode(m.Heartbeat((), 0, 100.0)), 0.0
        while True:
            now = time.monotonic()
            if now - beaten > _BEAT_SECONDS:
                beaten = now
                for socket in self._machines:
                    socket.send(beat)
            while self._ends and self._ends[0][0] <= now:
                one = heapq.heappop(self._ends)[2]
                one.socket.send(one.result(self._seconds))
                one.free_since = time.monotonic()
                self._begin(one)
            left = self._ends[0][0] - now if self._ends else _LONGEST_POLL_SECONDS
            for socket, _ in self._poller.poll(1000 * max(0.0, min(left, _LONGEST_POLL_SECONDS))):
                message, one = decode(socket.recv()), self._machines[socket]
                if isinstance(message, m.Run):
                    one.waiting += [
                        m.AttemptId(message.bag, task, number) for task, number, _ in message.orders
                    ]
                    self._begin(one)
                elif isinstance(message, m.Stop):
                    return

    def _begin(self, one: Machine) -> None:
        if one.runs is not None or not one.waiting:
            return
        if one.free_since is not None:
            self._waits.write(f"{time.monotonic() - one.free_since:.6f}\n")
        one.runs, one.free_since = one.waiting.pop(0), None
        lasts = self._seconds * self._rng.uniform(0.5, 1.5)
        heapq.heappush(self._ends, (time.monotonic() + lasts, id(one), one))


def main() -> None:
    access, count, seconds, file = sys.argv[1:]
    with Path(file).open("w", buffering=1) as waits:
        crowd = Crowd(float(seconds), waits)
        crowd.greet(read_access(Path(access), "worker"), int(count))
        crowd.serve()


if __name__ == "__main__":
    main()
