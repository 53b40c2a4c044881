"""Every task of the bag: what state it is in, and who runs it. Flat in memory and time per task."""

import random
from array import array
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, TaskId


class TaskState(IntEnum):
    WAITING = 0
    RUNNING = 1  # or queued on a machine
    DONE = 2
    FAILED = 3  # failed as often as it may, or held to bring machines down
    DROPPED = 4  # the bag ended without it


class Move(IntEnum):
    SEND = 0
    PUT_BACK = 1
    FINISH = 2
    GIVE_UP = 3
    DROP = 4
    RETRY = 5


_S, _M = TaskState, Move
MOVES: Final[Mapping[tuple[int, Move], TaskState]] = {
    (_S.WAITING, _M.SEND): _S.RUNNING,
    (_S.RUNNING, _M.SEND): _S.RUNNING,  # a replica
    (_S.DONE, _M.SEND): _S.DONE,  # sampled on another cluster too
    (_S.FAILED, _M.SEND): _S.FAILED,  # likewise
    (_S.RUNNING, _M.PUT_BACK): _S.WAITING,
    (_S.RUNNING, _M.FINISH): _S.DONE,
    (_S.WAITING, _M.FINISH): _S.DONE,  # the result of a machine that had been given up
    (_S.FAILED, _M.FINISH): _S.DONE,  # likewise
    (_S.DROPPED, _M.FINISH): _S.DONE,  # a result that came while the bag was ending
    (_S.RUNNING, _M.GIVE_UP): _S.FAILED,
    (_S.WAITING, _M.GIVE_UP): _S.FAILED,  # recorded so in an earlier life
    (_S.WAITING, _M.DROP): _S.DROPPED,
    (_S.RUNNING, _M.DROP): _S.DROPPED,
    (_S.FAILED, _M.RETRY): _S.WAITING,
    (_S.DROPPED, _M.RETRY): _S.WAITING,
}
"""Legal moves; anything else is a bug."""


class Attempt:
    """One execution, queued or running on a machine."""

    __slots__ = ("attempt", "machine", "ordered_at", "sampling", "since", "task")

    def __init__(self, task: TaskId, attempt: int, machine: MachineId, *, sampling: bool) -> None:
        self.task = task
        self.attempt = attempt
        self.machine = machine
        self.ordered_at = 0.0  # set by the machine, too
        self.since = 0.0  # when it got a slot; set by the machine
        self.sampling = sampling  # wanted for its runtime even when the task is done elsewhere


class TaskBook:
    __slots__ = (
        "_attempts",
        "_pool",
        "_pooled",
        "_rng",
        "counts",
        "failures",
        "in_flight",
        "losses",
        "lost",
        "running",
        "states",
        "stopped",
    )

    def __init__(self, tasks: int, rng: random.Random) -> None:
        self.states = bytearray(tasks)
        self._attempts = array("H", bytes(2 * tasks))
        self._pool = array("I", range(tasks))  # what can be drawn; a finished task may still be in
        self._pooled = bytearray(b"\1") * tasks  # whether a task is in the pool
        self._rng = rng
        self.counts = [tasks, 0, 0, 0, 0]  # by state
        self.running: dict[TaskId, list[Attempt]] = {}
        self.in_flight = 0  # attempts that run or are queued on a machine
        self.failures: dict[TaskId, int] = {}
        self.losses: dict[TaskId, int] = {}
        self.lost: dict[tuple[TaskId, int], Attempt] = {}  # with their machines, which may return
        self.stopped: dict[TaskId, tuple[int, float]] = {}  # on which cluster, after how long

    def __len__(self) -> int:
        return len(self.states)

    @property
    def waiting(self) -> int:
        return self.counts[TaskState.WAITING]

    @property
    def done(self) -> int:
        return self.counts[TaskState.DONE]

    @property
    def unfinished(self) -> int:
        return self.counts[TaskState.WAITING] + self.counts[TaskState.RUNNING]

    def draw(self) -> TaskId | None:
        """Take a waiting task at random out of the pool; None when the bag is empty."""
        pool = self._pool
        while pool:
            k = int(self._rng.random() * len(pool))
            task = TaskId(pool[k])
            pool[k] = pool[-1]
            pool.pop()
            self._pooled[task] = False
            if self.states[task] == TaskState.WAITING:
                return task
        return None

    def undraw(self, task: TaskId) -> None:
        """A drawn task that was not sent can be drawn again, if it still waits."""
        if self.states[task] == TaskState.WAITING and not self._pooled[task]:
            self._pool.append(task)
            self._pooled[task] = True

    def send(self, task: TaskId, machine: MachineId, *, sampling: bool = False) -> Attempt:
        self._move(task, Move.SEND)
        number = self._attempts[task] = min(self._attempts[task] + 1, 65535)
        attempt = Attempt(task, number, machine, sampling=sampling)
        self.in_flight += 1
        copies = self.running.get(task)
        if copies is None:
            self.running[task] = [attempt]
        else:
            copies.append(attempt)
        return attempt

    def adopt(
        self, task: TaskId, number: int, machine: MachineId, *, renumbered: bool
    ) -> Attempt | None:
        """A machine that had been given up still has this attempt; None when it is not wanted.

        One that was `renumbered` since has what another number was given.
        """
        lost = self.lost.get((task, number))
        if lost is None or not (renumbered or lost.machine == machine):
            return None
        if self.states[task] not in (TaskState.WAITING, TaskState.RUNNING):
            return None
        del self.lost[task, number]
        attempt = self.send(task, machine)
        attempt.attempt = number
        return attempt

    def ordered(self, task: TaskId, number: int, machine: MachineId) -> Attempt | None:
        """The attempt that this machine was given and has not told the end of."""
        for attempt in self.running.get(task, ()):
            if attempt.attempt == number and attempt.machine == machine:
                return attempt
        lost = self.lost.get((task, number))
        return lost if lost and lost.machine == machine else None

    def was_sent(self, task: TaskId, number: int) -> bool:
        """Some machine was given this attempt, some time."""
        return 0 <= task < len(self.states) and 0 < number <= self._attempts[task]

    def lose(self, attempt: Attempt) -> None:
        """Remove an attempt that may go on, and end, where nobody hears of it now."""
        self.remove(attempt)
        self.lost[attempt.task, attempt.attempt] = attempt

    def remove(self, attempt: Attempt) -> None:
        """The attempt is over; what becomes of the task is another move."""
        copies = self.running[attempt.task]
        copies.remove(attempt)
        self.in_flight -= 1
        if not copies:
            del self.running[attempt.task]

    def finish(self, task: TaskId) -> bool:
        """The first result of a task settles it; False for a later one."""
        if self.states[task] == TaskState.DONE:
            return False
        self._move(task, Move.FINISH)
        self.stopped.pop(task, None)
        return True

    def put_back(self, task: TaskId) -> None:
        self._move(task, Move.PUT_BACK)
        self.undraw(task)

    def give_up(self, task: TaskId) -> None:
        self._move(task, Move.GIVE_UP)

    def drop_unfinished(self) -> None:
        """The bag ends: nothing that waits or runs will be done."""
        for task, state in enumerate(self.states):
            if state in (TaskState.WAITING, TaskState.RUNNING):
                self._move(TaskId(task), Move.DROP)
        self._pool = array("I")
        self._pooled = bytearray(len(self.states))

    def retry(self, task: TaskId) -> None:
        """Try a failed or dropped task again, its failures forgotten."""
        self._move(task, Move.RETRY)
        self.failures.pop(task, None)
        self.losses.pop(task, None)
        self.undraw(task)

    def forgive(self, task: TaskId) -> None:
        """Forget that it failed, and try it again if it had been given up."""
        self.failures.pop(task, None)
        if self.states[task] == TaskState.FAILED and task not in self.running:
            self.retry(task)

    def check(self) -> None:
        """Raise BrokenInvariantError unless states, counts, pool and attempts agree."""
        counts = [self.states.count(state) for state in TaskState]
        if counts != self.counts:
            raise BrokenInvariantError(f"tasks by state are {counts}, the book says {self.counts}")
        for task, copies in self.running.items():
            if not copies:
                raise BrokenInvariantError(f"task {task} runs nowhere")
            if self.states[task] == TaskState.WAITING:
                raise BrokenInvariantError(f"task {task} waits and runs")
        if self.in_flight != sum(map(len, self.running.values())):
            raise BrokenInvariantError(f"{self.in_flight} attempts are said to be under way")
        for number, state in enumerate(self.states):
            task = TaskId(number)
            if state == TaskState.RUNNING and task not in self.running:
                raise BrokenInvariantError(f"task {task} is said to run and no machine has it")
        pooled = [task for task in self._pool if self.states[task] == TaskState.WAITING]
        if len(pooled) != len(set(pooled)):
            raise BrokenInvariantError("a waiting task is in the pool twice")

    def pooled(self) -> set[int]:
        """The waiting tasks that can be drawn; for checks."""
        return {task for task in self._pool if self.states[task] == TaskState.WAITING}

    def _move(self, task: TaskId, move: Move) -> None:
        state = self.states[task]
        to = MOVES.get((state, move))
        if to is None:
            raise BrokenInvariantError(
                f"task {task} cannot {move.name} while {TaskState(state).name}"
            )
        self.states[task] = to
        self.counts[state] -= 1
        self.counts[to] += 1
