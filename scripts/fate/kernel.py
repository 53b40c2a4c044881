"""Tasks without processes: what a worker's kernel would do with them, in virtual time.

A task runs for its seconds, writes what it is to write, and ends with its exit code.
`Recipe.start`, the reaper and signals are what a worker has of a kernel; these stand in for them.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from bats.common.messages import AttemptId, BagId, MachineId, TaskId
from fate.timeline import VirtualLoop

_FIRST: Final = 10_000_000  # no real process has such a number


@dataclass(frozen=True, slots=True)
class Work:
    """The truth about a task, whoever runs it."""

    seconds: float
    printed: int  # bytes
    left: int  # bytes of its output file; -1: it leaves none
    fails: int  # so many of its attempts end with an exit code of 3
    stubborn: bool  # only SIGKILL ends it


@dataclass(slots=True)
class Execution:
    """One attempt that was really begun."""

    attempt: AttemptId
    machine: MachineId
    began: float
    work: Work
    stdout: int
    scratch: str
    ended: float | None = None
    status: int = 0
    called_off: bool = False  # it was told to end, which one that is stubborn does not heed
    told: Callable[[], None] = lambda: None  # the reaper's


class Kernel:
    """All tasks of all machines."""

    def __init__(self, loop: VirtualLoop, work_of: Callable[[AttemptId, str], Work]) -> None:
        self._loop = loop
        self._work_of = work_of
        self._pids = _FIRST
        self.executions: dict[int, Execution] = {}
        self.machine_of: Callable[[], MachineId] = lambda: MachineId(-1)

    def start(self, attempt: AttemptId, slot: Any) -> int:
        self._pids += 1
        pid = self._pids
        work = self._work_of(attempt, slot.scratch)
        self.executions[pid] = Execution(
            attempt, self.machine_of(), self._loop.now, work, slot.stdout, slot.scratch
        )
        self._loop.call_later(work.seconds, self._finish, pid)
        return pid

    def _finish(self, pid: int) -> None:
        one = self.executions[pid]
        if one.ended is not None:
            return
        if one.work.printed:
            os.write(one.stdout, printed(one))
        if one.work.left >= 0:
            Path(one.scratch, "left").write_bytes(left(one))
        self._end(pid, 3 << 8 if one.attempt.attempt <= one.work.fails else 0)

    def _end(self, pid: int, status: int) -> None:
        one = self.executions[pid]
        if one.ended is None:
            one.ended, one.status = self._loop.now, status
            self._loop.call_soon(one.told)

    def ended_well(self, bag: BagId, task: TaskId) -> bool:
        """Some attempt of it has ended without an error."""
        return any(
            one.ended is not None and one.status == 0
            for one in self.executions.values()
            if (one.attempt.bag, one.attempt.task) == (bag, task)
        )

    def signal(self, group: int, number: int) -> None:
        one = self.executions.get(group)
        if one is not None and one.ended is None:
            one.called_off = True
        if one is not None and (number == signal.SIGKILL or not one.work.stubborn):
            self._end(group, number)

    def wait(self, pid: int, _options: int) -> tuple[int, int, Any]:
        return (
            pid,
            self.executions[pid].status,
            SimpleNamespace(ru_utime=0.0, ru_stime=0.0, ru_maxrss=1000),
        )


class Reaper:
    def __init__(self, kernel: Kernel, ended: Callable[[Any, int], None]) -> None:
        self._kernel = kernel
        self._ended = ended

    def watch(self, pid: int, what: Any) -> None:
        self._kernel.executions[pid].told = lambda: self._ended(what, pid)

    def close(self) -> None: ...


def printed(one: Execution) -> bytes:
    return _content(one, "printed", one.work.printed)


def left(one: Execution) -> bytes:
    """No two attempts leave the same, so that nothing can be taken for something else."""
    return _content(one, "left", one.work.left)


def _content(one: Execution, what: str, size: int) -> bytes:
    bag, task, attempt = one.attempt
    words = f"{what} by attempt {attempt} of task {task} of bag {bag} on {one.machine}\n"
    return (words.encode() * (size // len(words) + 1))[:size]
