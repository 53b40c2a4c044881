"""Tasks that wait, that run in slots, that must be stopped or given back: decisions, no deeds.

Times are seconds on whatever clock the caller uses.
"""

import math
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import chain
from typing import Final, NamedTuple

from bats.common.messages import AttemptId, BagId, Order, Outcome
from bats.common.records import dataclass
from bats.worker.process_tree import UNKILLABLE_SECONDS
from bats.worker.tasks.limits import Limits

MOST_WAIT_SECONDS: Final = 1.0  # behind running tasks; then another machine may have a free slot
ESCALATION: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class Waiting(NamedTuple):
    attempt: AttemptId
    values: tuple[str, ...]
    since: float
    kit: int = 0  # what it is to be carried out with
    gpus: int = 0  # that it has to itself


@dataclass(slots=True)
class Running:
    attempt: AttemptId
    slot: int
    started: float
    values: tuple[str, ...] = ()
    kit: int = 0
    timeout_at: float = math.inf
    grace_seconds: float = 0.0
    ending: Outcome | None = None  # why we stop it, once we do
    signals_sent: int = 0
    next_signal_at: float = math.inf
    given_up_at: float = math.inf  # if SIGKILL does not end it
    strangers: set[int] = field(default_factory=set)  # processes of it outside its group
    limits: Limits | None = None
    over: str = ""  # the limit that it went beyond

    def end(self, outcome: Outcome, now: float) -> None:
        """Stop it, for this reason unless it is being stopped already."""
        if self.ending is None:
            self.ending = outcome
            self.next_signal_at = now

    def end_at_once(self, why: str, now: float) -> None:
        """Kill it for going beyond a limit, unless it is being stopped already."""
        if self.ending is None:
            self.over = why
            self.ending = Outcome.FAILED
            self.signals_sent = ESCALATION.index(signal.SIGKILL)
            self.next_signal_at = now


class Signal(NamedTuple):
    running: Running
    number: signal.Signals


@dataclass(slots=True)
class Desk:
    slots: int
    waiting: deque[Waiting] = field(default_factory=deque)
    running: dict[int, Running] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)  # to processes that cannot be killed
    devices: list[str] = field(default_factory=list)  # GPUs that nobody has
    given: dict[int, tuple[str, ...]] = field(default_factory=dict)  # by slot: those that it has
    parked: dict[int, list[Waiting]] = field(default_factory=dict)  # files of a kit still come
    finishing: set[AttemptId] = field(default_factory=set)  # ended; its files are being collected
    held: set[AttemptId] = field(default_factory=set)  # all of the above
    closed: bool = False  # nothing new is started

    def __post_init__(self) -> None:
        self.free = list(range(self.slots))[::-1]

    def add(
        self, bag: BagId, orders: Iterable[Order], now: float, kit: int = 0, gpus: int = 0
    ) -> None:
        held, waiting = self.held, self.parked.get(kit, self.waiting)
        for task, attempt, values in orders:
            key = AttemptId(bag, task, attempt)
            if key not in held:
                held.add(key)
                waiting.append(Waiting(key, values, now, kit, gpus))

    def park(self, kit: int) -> None:
        """Tasks with this kit cannot start yet."""
        if kit not in self.parked:
            self.parked[kit] = [one for one in self.waiting if one.kit == kit]
            self.waiting = deque(one for one in self.waiting if one.kit != kit)

    def unpark(self, kit: int, now: float) -> None:
        """Let parked attempts start; what they waited for is not held against them."""
        self.waiting.extend(one._replace(since=now) for one in self.parked.pop(kit, ()))

    def starts(self) -> Iterator[tuple[Waiting, int]]:
        """Each waiting attempt that a free slot can take now; say `run` or `end` of each.

        Its GPUs are those of the slot till it ends.
        """
        while self._can_start():
            following, slot = self.waiting.popleft(), self.free.pop()
            if following.gpus:
                self.given[slot] = tuple(self.devices[: following.gpus])
                del self.devices[: following.gpus]
            yield following, slot

    def _can_start(self) -> bool:
        """One that waits for GPUs keeps its turn: who comes after it waits too."""
        if not (self.waiting and self.free) or self.closed:
            return False
        return self.waiting[0].gpus <= len(self.devices)

    def run(self, running: Running) -> None:
        self.running[running.slot] = running

    def end(self, attempt: AttemptId, slot: int) -> None:
        """Free the slot of an attempt that ended or could not start; its traces go later."""
        self.running.pop(slot, None)
        self.free.append(slot)
        self.devices.extend(self.given.pop(slot, ()))
        self.finishing.add(attempt)

    def drop(self, attempt: AttemptId) -> None:
        """Forget an attempt whose result is made."""
        self.finishing.discard(attempt)
        self.held.discard(attempt)

    def kill(self, attempts: Iterable[AttemptId], now: float) -> list[AttemptId]:
        """Begin to stop those that run; those that only waited are forgotten and returned."""
        wanted = self.held.intersection(attempts)
        for running in self.running.values():
            if running.attempt in wanted:
                running.end(Outcome.KILLED, now)
        return self._take_back(one.attempt for one in self._unstarted() if one.attempt in wanted)

    def kill_all(self, now: float, grace_seconds: float | None = None) -> list[AttemptId]:
        """Begin to stop everything; with a shorter grace if there is no time."""
        self.closed = True
        for running in self.running.values():
            running.end(Outcome.KILLED, now)
            if grace_seconds is not None and grace_seconds < running.grace_seconds:
                running.grace_seconds = grace_seconds
                running.next_signal_at = min(running.next_signal_at, now + grace_seconds)
        return self._take_back(one.attempt for one in self._unstarted())

    def give_back(self, now: float) -> list[AttemptId]:
        """Take back attempts that have waited too long; never while a slot is free for them."""
        if self._can_start():
            return []
        return self._take_back(
            one.attempt for one in self.waiting if one.since + MOST_WAIT_SECONDS <= now
        )

    def due(self, now: float) -> list[Signal]:
        """The signals to send now: INT, then TERM, then KILL, a grace apart."""
        due = []
        for running in self.running.values():
            if running.timeout_at <= now:
                running.end(Outcome.TIMED_OUT, now)
            while running.next_signal_at <= now:
                due.append(Signal(running, ESCALATION[running.signals_sent]))
                running.signals_sent += 1
                last = running.signals_sent == len(ESCALATION)
                running.next_signal_at = math.inf if last else now + running.grace_seconds
                if last:
                    running.given_up_at = now + UNKILLABLE_SECONDS
        return due

    def unkillable(self, now: float) -> list[Running]:
        """Those that have outlived SIGKILL for too long."""
        return [running for running in self.running.values() if running.given_up_at <= now]

    def give_up(self, running: Running) -> None:
        """Its result is made though it lives on; its slot takes nothing more."""
        del self.running[running.slot]
        self.lost.append(running.slot)
        self.held.discard(running.attempt)

    def next_due(self) -> float:
        """The time to ask `due` or `give_back` again, unless something ends first."""
        times = [
            min(r.timeout_at if r.ending is None else math.inf, r.next_signal_at, r.given_up_at)
            for r in self.running.values()
        ]
        if self.waiting:
            times.append(self.waiting[0].since + MOST_WAIT_SECONDS)
        return min(times, default=math.inf)

    def kits(self) -> set[int]:
        """The kits that something here is carried out with."""
        waiting = {one.kit for one in self._unstarted()}
        return waiting | {running.kit for running in self.running.values()} | set(self.parked)

    def check(self) -> None:
        """Raise AssertionError unless the books agree."""
        assert sorted([*self.free, *self.running, *self.lost]) == list(range(self.slots))
        known = [one.attempt for one in self._unstarted()]
        known += [r.attempt for r in self.running.values()] + list(self.finishing)
        assert len(known) == len(set(known))
        assert set(known) == self.held

    def _unstarted(self) -> Iterator[Waiting]:
        return chain(self.waiting, *self.parked.values())

    def _take_back(self, attempts: Iterable[AttemptId]) -> list[AttemptId]:
        back = list(attempts)
        if back:
            gone = set(back)
            self.held -= gone
            self.waiting = deque(one for one in self.waiting if one.attempt not in gone)
            for kit, parked in self.parked.items():
                self.parked[kit] = [one for one in parked if one.attempt not in gone]
        return back
