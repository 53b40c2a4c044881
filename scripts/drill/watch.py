"""Every process that descends from the drill's master, seen from outside: an account of its own.

Processes are told by a mark in their environment. A machine is the first process that calls itself
`bats-N`; it is up from its start, as the kernel says, until a descriptor of it says that it ended.
"""

import os
import re
import select
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

MARK = "DRILL_MARK"
_LOOK_SECONDS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


def now() -> float:
    """Seconds since the computer booted, as the kernel counts starts of processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Seen:
    pid: int
    parent: int
    ticks: int  # when it started
    state: str
    name: str
    user: int


@dataclass(slots=True)
class Machine:
    """The process whose uptime is charged."""

    number: int
    pid: int
    ticks: int
    ended: float | None = None

    @property
    def started(self) -> float:
        return self.ticks / _TICKS

    @property
    def uptime(self) -> float:
        return (self.ended or now()) - self.started


@dataclass(slots=True)
class Stray:
    """A process below no machine, keeper or master."""

    name: str
    since: float
    until: float


@dataclass(slots=True)
class Watch:
    """Looks from a thread, so that a busy drill misses nothing."""

    mark: str
    master: int = 0  # the process of the master now
    machines: dict[int, Machine] = field(default_factory=dict)
    strays: dict[tuple[int, int], Stray] = field(default_factory=dict)
    living: dict[int, Seen] = field(default_factory=dict)
    unkillable: set[int] = field(default_factory=set)  # machines with another user's processes
    _ours: dict[tuple[int, int], bool] = field(default_factory=dict)
    _ends: dict[int, Machine] = field(default_factory=dict)
    _poll: select.poll = field(default_factory=select.poll)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join()
        for descriptor in self._ends:
            os.close(descriptor)

    def daemon_of(self, machine: Machine) -> int | None:
        """The process under the machine's first, which speaks with the master."""
        for seen in list(self.living.values()):
            if seen.parent == machine.pid and seen.name == f"bats-{machine.number}":
                return seen.pid
        return None

    def up(self) -> list[Machine]:
        return [one for one in list(self.machines.values()) if one.ended is None]

    def ours(self) -> list[Seen]:
        """All marked processes that live now."""
        return [seen for seen in everybody() if self._is_ours(seen) and seen.state not in "ZX"]

    # --- the thread -------------------------------------------------------------------------------

    def _look_on(self) -> None:
        while not self._stop.is_set():
            self._look()
            ends = time.monotonic() + _LOOK_SECONDS
            while (pause := ends - time.monotonic()) > 0:
                for descriptor, _ in self._poll.poll(pause * 1000):
                    self._end(descriptor)
                if not self._ends:
                    self._stop.wait(max(0.0, ends - time.monotonic()))

    def _look(self) -> None:
        at = now()
        seen = [one for one in everybody() if self._is_ours(one) and one.state not in "ZX"]
        self.living = living = {one.pid: one for one in seen}
        for one in sorted(seen, key=lambda one: (one.ticks, one.pid)):
            if one.name.startswith("bats-"):
                self._enter(int(one.name[5:]), one)
        roots = {self.master} | {one.pid for one in seen if _is_keeper(one)}
        roots |= {one.pid for one in self.up()}
        for one in seen:
            if not _below(one, roots, living):
                key = one.pid, one.ticks
                stray = self.strays.setdefault(key, Stray(one.name, at, at))
                stray.until = at
        for one in seen:
            if one.user != os.geteuid():
                self._switch_off(one)

    def _switch_off(self, one: Seen) -> None:
        """What its machine may not kill ends with the machine's power, which is cut here."""
        number = _machine_of(one)
        self.unkillable.add(number)
        machine = self.machines.get(number)
        if machine is not None and machine.ended is not None:
            with suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)

    def _enter(self, number: int, seen: Seen) -> None:
        if number in self.machines:
            return
        self.machines[number] = machine = Machine(number, seen.pid, seen.ticks)
        try:
            descriptor = os.pidfd_open(seen.pid)
        except ProcessLookupError:
            machine.ended = now()
            return
        self._ends[descriptor] = machine
        self._poll.register(descriptor, select.POLLIN)

    def _end(self, descriptor: int) -> None:
        machine = self._ends.pop(descriptor)
        machine.ended = now()
        self._poll.unregister(descriptor)
        os.close(descriptor)

    def _is_ours(self, seen: Seen) -> bool:
        key = seen.pid, seen.ticks
        if key not in self._ours:
            try:
                held = Path(f"/proc/{seen.pid}/environ").read_bytes()
            except OSError:
                return False
            if not held:
                return False  # just beginning another program: ask again
            self._ours[key] = f"{MARK}={self.mark}".encode() in held.split(b"\0")
        return self._ours[key]


def everybody() -> Iterable[Seen]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                line = Path(entry.path, "stat").read_text()
                called = line[line.index("(") + 1 : line.rindex(")")]
                rest = line[line.rindex(")") + 2 :].split()
                user = entry.stat().st_uid
                yield Seen(int(entry.name), int(rest[1]), int(rest[19]), rest[0], called, user)


def _is_keeper(seen: Seen) -> bool:
    if seen.name.startswith("bats-"):
        return False
    with suppress(OSError):
        return b"bats.deploy.host.keeper" in Path(f"/proc/{seen.pid}/cmdline").read_bytes()
    return False


def _machine_of(seen: Seen) -> int:
    """The machine whose task it is, by the scratch folder in its environment; 0 when it ended."""
    with suppress(OSError):
        held = Path(f"/proc/{seen.pid}/environ").read_bytes()
        if found := re.search(rb"BATS_SCRATCH=.*?/local/[^/]+/(\d+)/", held):
            return int(found[1])
    return 0


def _below(seen: Seen, roots: set[int], living: dict[int, Seen]) -> bool:
    at: Seen | None = seen
    while at is not None:
        if at.pid in roots:
            return True
        at = living.get(at.parent)
    return False
