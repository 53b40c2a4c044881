"""Every task of the bag: what state it is in, and who runs it. Flat in memory and time per task."""

import random
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from typing import Final

from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, TaskId
from bats.master.brain.books.precedence import Precedence
from bats.master.brain.books.ready import ByRank, Ready, drawn


class TaskState(IntEnum):
    WAITING = 0  # for a machine: nothing else keeps it
    RUNNING = 1  # or queued on a machine
    DONE = 2
    FAILED = 3  # failed as often as it may, or held to bring machines down
    DROPPED = 4  # the bag ended without it
    BLOCKED = 5  # waits for tasks that are not done
    CUT_OFF = 6  # waits, directly or not, for one that failed for good


class Move(IntEnum):
    SEND = 0
    PUT_BACK = 1
    FINISH = 2
    GIVE_UP = 3
    DROP = 4
    RETRY = 5
    FREE = 6
    BLOCK = 7
    CUT_OFF = 8
    MEND = 9
    TAKE_UP = 10


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
    (_S.FAILED, _M.TAKE_UP): _S.RUNNING,  # tried again while an attempt has not told its end
    (_S.DROPPED, _M.TAKE_UP): _S.RUNNING,  # likewise
    (_S.BLOCKED, _M.FREE): _S.WAITING,  # all it waited for is done
    (_S.WAITING, _M.BLOCK): _S.BLOCKED,  # tried again before what it waits for is done
    (_S.BLOCKED, _M.CUT_OFF): _S.CUT_OFF,
    (_S.CUT_OFF, _M.MEND): _S.BLOCKED,  # what had failed is tried again, or done after all
    (_S.BLOCKED, _M.DROP): _S.DROPPED,
    (_S.BLOCKED, _M.FINISH): _S.DONE,  # recorded so in an earlier life
    (_S.CUT_OFF, _M.FINISH): _S.DONE,  # likewise
    (_S.BLOCKED, _M.GIVE_UP): _S.FAILED,  # likewise
}
"""Legal moves; anything else is a bug."""


_LEFT: Final = bytes(
    state in (TaskState.WAITING, TaskState.RUNNING, TaskState.BLOCKED) for state in range(256)
)
"""Of each state, if something is to be done yet."""

_MOST_FORGOTTEN: Final = 3
"""Orders of one task that a killed master may have sent and not kept; one who lies has more."""

_HOPELESS: Final = (TaskState.FAILED, TaskState.CUT_OFF)


class Attempt:
    """One execution, queued or running on a machine."""

    __slots__ = ("attempt", "given_up_at", "machine", "ordered_at", "sampling", "since", "task")

    def __init__(self, task: TaskId, attempt: int, machine: MachineId, *, sampling: bool) -> None:
        self.task = task
        self.attempt = attempt
        self.machine = machine
        self.ordered_at = 0.0  # set by the machine, too
        self.since = 0.0  # when it got a slot; set by the machine
        self.given_up_at: float | None = None  # nobody waits for it, and it has been told to end
        self.sampling = sampling  # wanted for its runtime even when the task is done elsewhere


class TaskBook:
    __slots__ = (
        "_attempts",
        "_pooled",
        "_ready",
        "counts",
        "failures",
        "in_flight",
        "losses",
        "lost",
        "order",
        "running",
        "states",
        "stopped",
    )

    def __init__(self, tasks: int, rng: random.Random, order: Precedence | None = None) -> None:
        self.order = order  # None: no task waits for another
        self.states = bytearray(tasks)
        self._attempts = array("H", bytes(2 * tasks))
        self.counts = [tasks, *[0] * (len(TaskState) - 1)]  # by state
        begin: Iterable[int] = range(tasks)
        self._pooled = bytearray(b"\1") * tasks  # whether a task can be drawn, or has ended since
        if order is not None:
            begin = self._block(order)
        self._ready = drawn(order, begin, rng)
        self.running: dict[TaskId, list[Attempt]] = {}
        self.in_flight = 0  # attempts that run or are queued on a machine
        self.failures: dict[TaskId, int] = {}
        self.losses: dict[TaskId, int] = {}
        self.lost: dict[tuple[TaskId, int], Attempt] = {}  # with their machines, which may return
        self.stopped: dict[TaskId, tuple[int, float]] = {}  # on which cluster, after how long

    def __len__(self) -> int:
        return len(self.states)

    def grow(self, count: int) -> None:
        """Take in so many tasks more, which can be drawn at once; they wait for no other."""
        first = len(self.states)
        self.states.extend(bytes(count))
        self._attempts.frombytes(bytes(2 * count))
        self._pooled.extend(b"\1" * count)
        self.counts[TaskState.WAITING] += count
        for task in range(first, first + count):
            self._ready.add(task)

    @property
    def waiting(self) -> int:
        """The number that is not begun, be it that they wait for a machine or for other tasks."""
        return self.counts[TaskState.WAITING] + self.counts[TaskState.BLOCKED]

    @property
    def ready(self) -> int:
        return self.counts[TaskState.WAITING]

    @property
    def done(self) -> int:
        return self.counts[TaskState.DONE]

    @property
    def unfinished(self) -> int:
        return self.waiting + self.counts[TaskState.RUNNING]

    def draw(self, within: float | None = None) -> TaskId | None:
        """Take the next of the ready tasks, or the longest within so long; None without one."""
        ready = self._ready
        while (task := ready.take() if within is None else ready.take_within(within)) is not None:
            self._pooled[task] = False
            if self.states[task] == TaskState.WAITING:
                return TaskId(task)
        return None

    @property
    def longest(self) -> TaskId | None:
        """The next of the ready tasks where the longest goes first; else nobody knows."""
        waiting = (t for t in self._ready.falling() if self.states[t] == TaskState.WAITING)
        return next(map(TaskId, waiting), None)

    def undraw(self, task: TaskId) -> None:
        """A drawn task that was not sent can be drawn again, if it still waits."""
        if self.states[task] == TaskState.WAITING and not self._pooled[task]:
            self._ready.add(task)
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

    def unheard(self) -> list[Attempt]:
        """All attempts whose end nobody has told."""
        return [*chain.from_iterable(self.running.values()), *self.lost.values()]

    def was_sent(self, task: TaskId, number: int) -> bool:
        """Some machine was given this attempt, some time."""
        return 0 <= task < len(self.states) and 0 < number <= self._attempts[task]

    def recall(self, task: TaskId, number: int) -> None:
        """A machine has an attempt whose order was forgotten: give that number to no other.

        A master that was killed may have sent its last orders before they were durable.
        """
        if 0 <= task < len(self.states):
            sent = self._attempts[task]
            if sent < number <= sent + _MOST_FORGOTTEN:
                self._attempts[task] = number

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
        before = self.states[task]
        if before == TaskState.DONE:
            return False
        self._move(task, Move.FINISH)
        self.stopped.pop(task, None)
        if self.order is not None:
            if before in _HOPELESS:
                self._give_hope(self.order, task)
            for child in self.order.finished(task):
                if self.states[child] == TaskState.BLOCKED:
                    self._move(TaskId(child), Move.FREE)
                    self.undraw(TaskId(child))
        return True

    def put_back(self, task: TaskId) -> None:
        self._move(task, Move.PUT_BACK)
        self.undraw(task)

    def give_up(self, task: TaskId) -> None:
        """The task has failed for good, and cuts off whatever waits for it, directly or not."""
        self._move(task, Move.GIVE_UP)
        if self.order is not None:
            without = [int(task)]
            while without:
                for child in self.order.despaired(without.pop()):
                    if self.states[child] == TaskState.BLOCKED:
                        self._move(TaskId(child), Move.CUT_OFF)
                        without.append(child)

    def leave_out(self, task: TaskId) -> None:
        """Nobody wants it any more; what runs of it is to be stopped."""
        self._move(task, Move.DROP)

    def drop_unfinished(self) -> None:
        """The bag ends: nothing that waits or runs will be done."""
        for task, state in enumerate(self.states):
            if state in (TaskState.WAITING, TaskState.RUNNING, TaskState.BLOCKED):
                self._move(TaskId(task), Move.DROP)
        self._ready.clear()
        self._pooled = bytearray(len(self.states))

    def retry(self, task: TaskId) -> None:
        """Try a failed or dropped task again, its failures forgotten, and what it had cut off.

        Attempts that were told to stop may be under way yet: it waits once they have ended.
        """
        had_failed = self.states[task] == TaskState.FAILED
        self._move(task, Move.TAKE_UP if task in self.running else Move.RETRY)
        self.failures.pop(task, None)
        self.losses.pop(task, None)
        if self.order is not None:
            if had_failed:
                self._give_hope(self.order, task)
            if self.order.waits[task]:
                self._move(task, Move.BLOCK)
        self.undraw(task)

    def forgive(self, task: TaskId) -> None:
        """Forget that it failed, and try it again if it had been given up."""
        self.failures.pop(task, None)
        if self.states[task] == TaskState.FAILED and task not in self.running:
            self.retry(task)

    def arrange(self, arranged: Callable[[Sequence[int]], Ready]) -> None:
        """Draw ready tasks in this way from now on."""
        ready = [task for task in self._ready if self.states[task] == TaskState.WAITING]
        for task in self._ready:
            self._pooled[task] = self.states[task] == TaskState.WAITING
        self._ready = arranged(ready)

    @property
    def ranked(self) -> ByRank | None:
        """The ready tasks, if they are drawn by rank."""
        return self._ready if isinstance(self._ready, ByRank) else None

    def is_begun(self, task: int) -> bool:
        """True if it runs, has ended, or is given up."""
        return self.states[task] not in (TaskState.WAITING, TaskState.BLOCKED)

    def waiting_of(self, step: int) -> int:
        """The tasks of a step that are not begun."""
        if self.order is None:
            return self.waiting
        states = self.states[self.order.starts[step] : self.order.starts[step + 1]]
        return states.count(TaskState.WAITING) + states.count(TaskState.BLOCKED)

    def most_at_once(self) -> int:
        """The most that may ever be ready or run at a time, of those left."""
        if self.order is None:
            return self.unfinished
        return self.order.most_at_once(self.unfinished, self._left)

    def look_at_order(self) -> None:
        """An event is over."""
        if self.order is not None:
            self.order.look(self.unfinished, self._left)

    def _left(self) -> Sequence[int]:
        return self.states.translate(_LEFT)

    def level(self, generations: float) -> int:
        """The most that may run at a time when tasks end one generation after the other."""
        if self.order is None:
            return self.unfinished
        found = self.order.level(lambda task: self.states[task] == TaskState.DONE, generations)
        return self.most_at_once() if found is None else found

    def soon_at_once(self, enough: int) -> int:
        """The most that may run at a time now, or when all that can run now has ended.

        It is not counted further than to `enough`.
        """
        now = self.counts[TaskState.WAITING] + self.counts[TaskState.RUNNING]
        if self.order is None or now >= enough:
            return min(self.unfinished, max(now, enough))
        ready = (t for t in self._ready if self.states[t] == TaskState.WAITING)
        freed = self.order.freed_by(chain(self.running, ready))
        return min(enough, max(now, freed))

    def in_order(self) -> Sequence[int]:
        """All tasks, parents before children."""
        return range(len(self)) if self.order is None else self.order.in_order()

    def holds_up(self, task: TaskId) -> int:
        """The number of tasks that wait for this one."""
        return 0 if self.order is None else self.order.holds_up(task)

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
        pooled = [task for task in self._ready if self.states[task] == TaskState.WAITING]
        if len(pooled) != len(set(pooled)):
            raise BrokenInvariantError("a waiting task is in the pool twice")
        if self.order is not None:
            self._check_order(self.order)

    def pooled(self) -> set[int]:
        """The waiting tasks that can be drawn."""
        return {task for task in self._ready if self.states[task] == TaskState.WAITING}

    # --- order -----------------------------------------------------------------------------------

    def _block(self, order: Precedence) -> list[int]:
        """Block what waits for others; the rest is given."""
        begin = [task for task, waits in enumerate(order.waits) if not waits]
        self.states = bytearray([TaskState.BLOCKED]) * len(self.states)
        self._pooled = bytearray(len(self.states))
        for task in begin:
            self.states[task] = TaskState.WAITING
            self._pooled[task] = True
        self.counts[TaskState.WAITING] = len(begin)
        self.counts[TaskState.BLOCKED] = len(self.states) - len(begin)
        return begin

    def _give_hope(self, order: Precedence, task: TaskId) -> None:
        """Tasks that this one had cut off wait for it again."""
        again = [int(task)]
        while again:
            for child in order.hoped_for(again.pop()):
                if self.states[child] == TaskState.CUT_OFF:
                    self._move(TaskId(child), Move.MEND)
                    again.append(child)

    def _check_order(self, order: Precedence) -> None:
        for task, state in enumerate(self.states):
            if state in (TaskState.WAITING, TaskState.RUNNING) and order.waits[task]:
                raise BrokenInvariantError(f"task {task} goes before what it waits for")
            if (state == TaskState.CUT_OFF) != bool(order.hopeless[task]) and state in (
                TaskState.BLOCKED,
                TaskState.CUT_OFF,
            ):
                raise BrokenInvariantError(f"task {task} is {TaskState(state).name} wrongly")
            if state == TaskState.BLOCKED and not order.waits[task]:
                raise BrokenInvariantError(f"task {task} waits for nothing")

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
