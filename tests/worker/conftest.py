"""A small real master for one worker at a time: a ROUTER with keys, that says what a test wants."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import zmq
from zmq.utils import z85

from bats.common import messages as m
from bats.common.ticket import Ticket, to_json
from bats.common.wire.codec import decode, encode
from bats.common.wire.keys import KeyPair, new_pair
from bats.common.wire.sockets import set_up_server

Said = TypeVar("Said")
PATIENCE_SECONDS = 60.0


class Master:
    """Admits the keys in `admitted`; hears and says messages, one peer at a time."""

    def __init__(self, pair: KeyPair | None = None, port: int = 0) -> None:
        self.pair = pair or new_pair()
        self.machine = new_pair()
        self.admitted = {self.machine.public}
        self.context: zmq.Context[Any] = zmq.Context()
        self.zap = self.context.socket(zmq.REP)
        self.zap.bind("inproc://zeromq.zap.01")
        self.socket = self.context.socket(zmq.ROUTER)
        set_up_server(self.socket, self.pair)
        self.port = port or self.socket.bind_to_random_port("tcp://127.0.0.1")
        if port:
            self.socket.bind(f"tcp://127.0.0.1:{port}")
        self.poller = zmq.Poller()
        self.poller.register(self.zap, zmq.POLLIN)
        self.poller.register(self.socket, zmq.POLLIN)
        self.peer = b""
        self.heard: list[Any] = []

    def ticket(self, **other: Any) -> Ticket:
        return replace(
            Ticket(
                machine=m.MachineId(7),
                master=(f"tcp://127.0.0.1:{self.port}",),
                server_key=self.pair.public,
                public_key=self.machine.public,
                secret_key=self.machine.secret,
                slots=2,
                lease_seconds=60.0,
            ),
            **other,
        )

    def say(self, *messages: Any) -> None:
        for message in messages:
            self.socket.send_multipart([self.peer, encode(message)])

    def turn(self, milliseconds: float) -> bool:
        """One look at the sockets; whether a message came."""
        came = False
        for socket, _ in self.poller.poll(milliseconds):
            if socket is self.zap:
                version, request, _, _, _, _, *key = self.zap.recv_multipart()
                known = z85.encode(key[0]).decode() if key else ""
                status = b"200" if known in self.admitted else b"400"
                self.zap.send_multipart([version, request, status, b"", known.encode(), b""])
            else:
                while True:
                    try:
                        self.peer, frame = self.socket.recv_multipart(zmq.NOBLOCK)
                    except zmq.Again:
                        break
                    self.heard.append(decode(frame))
                    came = True
        return came

    def hear(self, kind: type[Said], that: Callable[[Said], bool] = lambda _: True) -> Said:
        """The next message of this kind that is so; others are left to be heard later."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for message in self.heard:
                if isinstance(message, kind) and that(message):
                    self.heard.remove(message)
                    return message
            self.turn(50)
        raise AssertionError(f"no {kind.__name__} within {PATIENCE_SECONDS} s: {self.heard}")

    def welcome(self, *, lease_seconds: float = 60.0, heartbeat_seconds: float = 5.0) -> m.Hello:
        hello = self.hear(m.Hello)
        self.say(m.Welcome("test", heartbeat_seconds, lease_seconds))
        return hello

    def results(self, count: int, *, acknowledge: bool = True) -> list[m.Result]:
        """So many results, the earliest first."""
        got: list[m.Result] = []
        while len(got) < count:
            batch = self.hear(m.Results)
            got += batch.results
            if acknowledge:
                self.say(m.ResultsStored(batch.serial))
        assert len(got) == count
        return got

    def run(self, *commands: str, **spec: Any) -> list[m.Result]:
        """Run each command once; their results by task."""
        self.order(*commands, **spec)
        return sorted(self.results(len(commands)), key=lambda r: r.task)

    def order(self, *commands: str, **spec: Any) -> None:
        spec = {"command": "{c!raw}", **spec}
        self.say(m.BagSpec(m.BagId(1), ("c",), **spec))
        orders = tuple(m.Order(m.TaskId(i), 1, (c,)) for i, c in enumerate(commands))
        self.say(m.Run(m.BagId(1), orders))

    def close(self) -> None:
        self.socket.close(0)
        self.zap.close(0)
        self.context.term()


class Daemon:
    """A worker started as a back end starts it."""

    def __init__(self, ticket: Ticket, *arguments: str, under: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*under, sys.executable, "-m", "bats.worker", "--ticket", "-", *arguments],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin
        self.process.stdin.write(to_json(ticket))
        self.process.stdin.close()
        self.process.stdin = None

    def ends(self) -> tuple[int, str]:
        """Its exit code and its log, once it has ended by itself."""
        _, log = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, log

    def close(self) -> None:
        """Asked to stop in order, then at once: nobody answers its farewell."""
        for _ in range(100):
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.communicate(timeout=0.1)
                return
        self.process.kill()
        raise AssertionError("the worker does not stop")


def lives(pid: int) -> bool:
    """True if a process runs; one that ended but was not yet waited for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def master() -> Iterator[Master]:
    master = Master()
    yield master
    master.close()


@pytest.fixture
def start(master: Master, tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    daemons = []

    def start(under: Sequence[str] = (), **ticket: Any) -> Daemon:
        ticket = {"state_folder": str(tmp_path / "state"), **ticket}
        daemons.append(Daemon(master.ticket(**ticket), under=under))
        return daemons[-1]

    yield start
    for daemon in daemons:
        with contextlib.suppress(ProcessLookupError):
            os.kill(daemon.process.pid, signal.SIGCONT)
        daemon.close()


@pytest.fixture
def worker(master: Master, start: Callable[..., Daemon]) -> Daemon:
    """One that has joined."""
    daemon = start()
    master.welcome()
    return daemon
