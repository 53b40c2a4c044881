"""Machines' time by its use, read off a bag's journal in one pass and in bounded memory.

The journal alone knows every attempt: also copies that came second, which the store only counts.
"""

import math
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, TypeVar

import msgpack

from bats.common.messages import BagId, MachineId, Outcome
from bats.common.records import dataclass
from bats.master.brain.protocol.events import Added, Borrowed, Ended, Gone, Joined, TakenBack
from bats.master.brain.protocol.journal import CODES, code_of
from bats.master.brain.protocol.numbering import from_journal

MOST_SPANS: Final = 2000  # attempts drawn one by one; beyond that only how busy machines were
MOST_BINS: Final = 240  # of time: about what a screen can show
BINS_PER_OCTAVE: Final = 8  # of runtimes: neighbouring bins differ by 9 %

_FIRST_BIN_SECONDS: Final = 1 / 32
_ENDED: Final = CODES[Ended]
_JOINED: Final = CODES[Joined]
_ADDED: Final = CODES[Added]
_BORROWED: Final = CODES[Borrowed]
_LEFT: Final = (CODES[Gone], CODES[TakenBack])
_OF_MACHINES: Final = (_ENDED, _JOINED, _BORROWED, *_LEFT)
_LOOKED_AT: Final = (*_OF_MACHINES, _ADDED)
_SHORTEST_SECONDS: Final = 1e-4

N = TypeVar("N", int, float)


class Use(IntEnum):
    """The use of an attempt."""

    TASK = 0  # gave its task's result, after the schedule was chosen
    SAMPLE = 1  # began before that: it told how long tasks take
    COPY = 2  # came second, or was stopped
    FAILED = 3  # ended badly, of itself or by the time limit


@dataclass(frozen=True, slots=True)
class Span:
    machine: MachineId
    task: int
    start: float  # seconds of the run
    end: float
    use: Use


def tasks_from(chosen_at: float, strategy: str) -> float:
    """The time from which on an attempt is no sample: of a bag that goes by a strategy, none is."""
    return -1.0 if strategy and not chosen_at else chosen_at


class MachineTime:
    """The time of one machine's slots by its use, in seconds."""

    __slots__ = ("busy", "came", "cluster", "done", "left", "runtimes", "slots", "used")

    def __init__(self) -> None:
        self.slots = 0  # as the worker said; 0: it never joined
        self.used = [0.0] * len(Use)
        self.done = 0
        self.busy: dict[int, float] = {}  # by bin of time
        self.runtimes: dict[int, int] = {}  # how many tasks took so long, by bin of runtime
        self.cluster = -1  # that a machine of others belongs to; else it is the bag's own
        self.came = 0.0  # a machine of others
        self.left: float | None = None

    def come(self, cluster: int, slots: int, now: float) -> None:
        """It serves this bag, or does so again."""
        self.slots, self.left = slots, None
        if cluster >= 0 and self.cluster < 0:
            self.cluster, self.came = cluster, now


class Chronicle:
    """Fed with the journal's events in order; never needs one twice."""

    def __init__(self, bag: BagId, tasks: int) -> None:
        self._bag = bag
        self.events = 0
        self.machines: dict[MachineId, MachineTime] = {}
        self.spans: list[Span] = []
        self.spans_complete = True
        self.bin_seconds = _FIRST_BIN_SECONDS
        self.done_by_bin: dict[int, int] = {}
        self.last = 0.0
        self._is_done = bytearray(tasks)

    def read(self, events: Iterable[tuple[int, float, bytes]], chosen_at: float) -> None:
        """Take in what the store has of the journal; `chosen_at` is 0 while nothing is chosen."""
        for number, now, written in events:
            if code_of(written) in _LOOKED_AT:  # most others need not be unpacked
                self.see(msgpack.unpackb(written), now, chosen_at)
            self.last = max(self.last, now)
            self.events = number + 1

    def see(self, event: list[Any], now: float, chosen_at: float) -> None:
        if event[0] == _ADDED:
            self._is_done.extend(bytes(event[1]))
        if event[0] not in _OF_MACHINES:
            return
        number = from_journal(event[1], self._bag)
        machine = self._machine(number)
        if event[0] == _JOINED:
            machine.come(event[4], event[2], now)
        elif event[0] == _BORROWED:
            machine.come(event[2], event[3], now)
        elif event[0] in _LEFT:
            machine.left = now
        else:
            self._stretch(now)
            flat = event[2]
            for k in range(0, len(flat), 4):
                self._ended(number, machine, flat[k], flat[k + 2], flat[k + 3], now, chosen_at)

    def _ended(
        self,
        number: MachineId,
        machine: MachineTime,
        task: int,
        outcome: int,
        seconds: float,
        now: float,
        chosen_at: float,
    ) -> None:
        start = max(0.0, now - seconds)
        first = False
        if outcome == Outcome.DONE:
            first = 0 <= task < len(self._is_done) and not self._is_done[task]
            machine.done += 1
            length = math.floor(BINS_PER_OCTAVE * math.log2(max(seconds, _SHORTEST_SECONDS)))
            machine.runtimes[length] = machine.runtimes.get(length, 0) + 1
        last_bin = int(now / self.bin_seconds)
        if first:
            self._is_done[task] = 1
            self.done_by_bin[last_bin] = self.done_by_bin.get(last_bin, 0) + 1
        if start < chosen_at or not chosen_at:
            use = Use.SAMPLE if outcome == Outcome.DONE else _WASTED[outcome]
        else:
            use = Use.TASK if first else _WASTED[outcome]
        machine.used[use] += seconds
        first_bin = int(start / self.bin_seconds)
        if first_bin == last_bin:
            machine.busy[last_bin] = machine.busy.get(last_bin, 0.0) + seconds
        else:
            self._spread(machine, start, now, first_bin, last_bin)
        if self.spans_complete:
            self.spans.append(Span(number, task, start, now, use))
            if len(self.spans) > MOST_SPANS:
                self.spans, self.spans_complete = [], False

    def _spread(
        self, machine: MachineTime, start: float, end: float, first: int, last: int
    ) -> None:
        width = self.bin_seconds
        for k in range(first, last + 1):
            part = min(end, (k + 1) * width) - max(start, k * width)
            machine.busy[k] = machine.busy.get(k, 0.0) + part

    def _stretch(self, now: float) -> None:
        """Bins become twice as wide whenever there would be too many."""
        while now >= MOST_BINS * self.bin_seconds:
            self.bin_seconds *= 2
            self.done_by_bin = _halved(self.done_by_bin)
            for machine in self.machines.values():
                machine.busy = _halved(machine.busy)

    def _machine(self, number: MachineId) -> MachineTime:
        if (machine := self.machines.get(number)) is None:
            machine = self.machines[number] = MachineTime()
        return machine


_WASTED: Final = tuple(
    Use.COPY if outcome in (Outcome.DONE, Outcome.KILLED) else Use.FAILED for outcome in Outcome
)


def _halved(bins: dict[int, N]) -> dict[int, N]:
    merged: dict[int, N] = {}
    for k, amount in bins.items():
        merged[k // 2] = merged.get(k // 2, 0) + amount
    return merged
