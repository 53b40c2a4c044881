"""Links between one master and its workers: they are slow, break, and on bad days worse.

Both ends stand in for those that speak ZeroMQ and have their methods. Within a connection frames
come in order, as TCP has it; while a link is `wild` they are lost, doubled and overtaken, which
stands for whatever program on the way is wrong.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bats.common.wire.keys import KeyPair
from bats.master.service.wire.router import Heard
from fate.timeline import Process, VirtualLoop, current

_DENIED_SECONDS: Final = 0.2
_LONGEST_DENIED_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 0.3


@dataclass(slots=True)
class Weather:
    """The state of all links."""

    delay_seconds: float = 0.01
    bytes_per_second: float = 1e7
    dropped: float = 0.0  # shares of frames
    doubled: float = 0.0
    overtaken: float = 0.0
    down: bool = False


class MasterEnd:
    """The master's socket. One per life of the master."""

    def __init__(self, network: "Network") -> None:
        self.network = network
        self.hear: Callable[[list[Heard]], None] = lambda _: None
        self.lost: Callable[[bytes], None] = lambda _: None
        process = current()
        assert process is not None
        self.process = process
        self.admits: Callable[[str], bool] = lambda _: False
        self.connections = self
        self.messages = self.malformed = self.refused = 0
        network.master = self

    def serve(self, hear: Callable[[list[Heard]], None], lost: Callable[[bytes], None]) -> None:
        self.hear, self.lost = hear, lost

    def bind(self, _host: str, port: int) -> int:
        return port or 4000

    def send(self, route: bytes, frame: bytes) -> None:
        self.network.to_worker(self, route, frame)

    async def room(self, route: bytes, size: int) -> None: ...

    def forget(self, route: bytes) -> None: ...

    def hang_up_on(self, key: str) -> None:
        for wire in [one for one in self.network.wires.values() if one.end.pair.public == key]:
            self.network.cut(wire)

    def unsent_bytes(self, _route: bytes) -> int:
        return 0

    def close(self) -> None: ...


class Wire:
    """One connection, as long as it lasts."""

    def __init__(self, route: bytes, end: "WorkerEnd", master: MasterEnd) -> None:
        self.route = route
        self.end = end
        self.master = master
        self.free_at = [0.0, 0.0]  # when the last frame each way will have come
        self.cut = False


class Network:
    def __init__(self, loop: VirtualLoop, rng: random.Random) -> None:
        self.loop = loop
        self.rng = rng
        self.weather = Weather()
        self.master: MasterEnd | None = None
        self.wires: dict[bytes, Wire] = {}
        self.answers: list[tuple[float, bytes]] = []  # to the client, and when
        self.when_told: Callable[[], None] | None = None  # once, when a worker has heard something
        self._routes = 0

    @property
    def listening(self) -> bool:
        return self.master is not None and self.master.process.alive and not self.weather.down

    def connect(self, end: "WorkerEnd") -> Wire:
        assert self.master is not None
        self._routes += 1
        wire = Wire(b"route %d" % self._routes, end, self.master)
        self.wires[wire.route] = wire
        return wire

    def to_master(self, wire: Wire, frame: bytes) -> None:
        heard = Heard(wire.route, wire.end.pair.public, memoryview(frame))

        def arrive() -> None:
            if not wire.cut:
                wire.master.messages += 1
                wire.master.hear([heard])

        self._send(wire, 0, len(frame), wire.master.process, arrive)

    def to_worker(self, master: MasterEnd, route: bytes, frame: bytes) -> None:
        if route == b"client":
            self.answers.append((self.loop.now, frame))
            return
        wire = self.wires.get(route)
        if wire is None:
            self.loop.call_soon(master.lost, route)
            return

        def arrive() -> None:
            if not wire.cut:
                wire.end.listener.on_frame(frame)
                if self.when_told is not None:
                    self.loop.outside(0.0, self.when_told)
                    self.when_told = None

        self._send(wire, 1, len(frame), wire.end.process, arrive)

    def _send(self, wire: Wire, way: int, size: int, to: Process, arrive: Any) -> None:
        weather, rng = self.weather, self.rng
        if weather.dropped and rng.random() < weather.dropped:
            return
        takes = size / weather.bytes_per_second
        at = max(self.loop.now, wire.free_at[way]) + takes
        wire.free_at[way] = at
        delay = at - self.loop.now + weather.delay_seconds
        if weather.overtaken and rng.random() < weather.overtaken:
            delay += rng.uniform(0.0, 20.0)
        self.loop.within(to, delay, arrive)
        if weather.doubled and rng.random() < weather.doubled:
            self.loop.within(to, delay + rng.uniform(0.0, 10.0), arrive)

    def cut(self, wire: Wire) -> None:
        """The connection breaks; each side notices by itself."""
        if wire.cut:
            return
        wire.cut = True
        self.wires.pop(wire.route, None)
        self.loop.within(wire.master.process, 0.05, wire.master.lost, wire.route)
        self.loop.within(wire.end.process, 0.05, wire.end.noticed, wire)

    def cut_all(self) -> None:
        for wire in list(self.wires.values()):
            self.cut(wire)


class WorkerEnd:
    """A worker's connection; with the methods of `worker/link/connection.py`."""

    def __init__(
        self, network: Network, _addresses: Any, _server_key: str, pair: KeyPair, listener: Any
    ) -> None:
        self.network = network
        self.pair = pair
        self.listener = listener
        process = current()
        assert process is not None
        self.process = process
        self.up = self.was_up = False
        self.denied = 0
        self.denied_in_all = 0
        self._wire: Wire | None = None
        self._closed = False
        self._try_at(0.01)

    def use(self, pair: KeyPair) -> None:
        self.pair = pair
        self.again()

    def again(self) -> None:
        if self._closed:
            return
        if self._wire is not None:
            self.network.cut(self._wire)
        self._down()
        self._try_at(0.01)

    def send(self, frame: bytes) -> bool:
        if not self.up or self._wire is None:
            return False
        self.network.to_master(self._wire, frame)
        return True

    def close(self, _linger_seconds: float = 0.0) -> None:
        self._closed = True
        if self._wire is not None:
            wire = self._wire
            self.network.loop.outside(0.2, self.network.cut, wire)
        self.up = False

    def noticed(self, wire: Wire) -> None:
        if wire is self._wire and not self._closed:
            self._down()
            self._try_at(_AGAIN_SECONDS)

    def _down(self) -> None:
        was, self.up, self._wire = self.up, False, None
        if was:
            self.listener.on_down()

    def _try_at(self, delay: float) -> None:
        self.network.loop.within(self.process, delay, self._try)

    def _try(self) -> None:
        if self._closed or self.up:
            return
        if not self.network.listening:
            self._try_at(_AGAIN_SECONDS)
            return
        master = self.network.master
        assert master is not None
        if not master.admits(self.pair.public):
            self.denied_in_all += 1
            self.pair = self.listener.on_denied()
            self._try_at(min(_DENIED_SECONDS * 2**self.denied, _LONGEST_DENIED_SECONDS))
            self.denied = min(self.denied + 1, 10)
            return
        self.denied = 0
        self._wire = self.network.connect(self)
        self.up = self.was_up = True
        self.listener.on_up()
