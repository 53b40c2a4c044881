"""Tasks and attempts at them, as policies see them: they can only be read."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from bats.common.messages import MachineId, TaskId
from bats.master.brain.books.instances import Choice
from bats.master.brain.unreliable.notation import Written
from bats.master.brain.unreliable.reliability import Sent
from bats.master.brain.unreliable.weighing import Weighing


class AttemptView(Protocol):
    """One execution, queued or running on a machine."""

    @property
    def task(self) -> TaskId: ...
    @property
    def attempt(self) -> int: ...
    @property
    def machine(self) -> MachineId: ...
    @property
    def since(self) -> float:
        """The time when it got a slot."""
        ...

    @property
    def ordered_at(self) -> float:
        """The time when it was sent."""
        ...

    @property
    def given_up_at(self) -> float | None:
        """The time when it was told to end, for nobody waits for it any more."""
        ...

    @property
    def sampling(self) -> bool:
        """True if it is wanted for its runtime even when the task is done elsewhere."""
        ...


class RankedView(Protocol):
    """Ready tasks by the way to the end from each."""

    @property
    def critical(self) -> float: ...
    @property
    def next_rank(self) -> float: ...
    def longest_left(self, begun: Callable[[int], bool]) -> float: ...


class TasksView(Protocol):
    def __len__(self) -> int: ...
    @property
    def states(self) -> Sequence[int]:
        """The `TaskState` of each task."""
        ...

    @property
    def counts(self) -> Sequence[int]:
        """The number of tasks in each `TaskState`."""
        ...

    @property
    def running(self) -> Mapping[TaskId, Sequence[AttemptView]]: ...
    @property
    def stopped(self) -> Mapping[TaskId, tuple[int, float]]:
        """The cluster on which an attempt was stopped, and after how long."""
        ...

    @property
    def waiting(self) -> int:
        """The number that is not begun, be it that they wait for a machine or for other tasks."""
        ...

    @property
    def ready(self) -> int:
        """The number of those that wait for a machine alone."""
        ...

    @property
    def longest(self) -> TaskId | None:
        """The task that is next where the longest goes first; None where nobody knows."""
        ...

    @property
    def done(self) -> int: ...
    @property
    def unfinished(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    def pooled(self) -> AbstractSet[int]:
        """The tasks that wait for a machine alone."""
        ...

    @property
    def ranked(self) -> "RankedView | None":
        """The ready tasks, if they are begun by rank."""
        ...

    def is_begun(self, task: int) -> bool: ...
    def level(self, generations: float) -> int:
        """The most that may run at a time when tasks end one generation after the other."""
        ...

    def waiting_of(self, step: int) -> int:
        """The tasks of a workflow's step that are not begun."""
        ...

    def most_at_once(self) -> int:
        """The most that may ever be ready or run at a time, of those left."""
        ...

    def soon_at_once(self, enough: int) -> int:
        """The most that may run at a time now, or when all that can run now has ended.

        It is not counted further than to `enough`.
        """
        ...

    def in_order(self) -> Sequence[int]:
        """All tasks, parents before children."""
        ...

    def holds_up(self, task: TaskId) -> int:
        """The number of tasks that wait for this one."""
        ...


class InstancesView(Protocol):
    """The instances that unreliable machines were sent."""

    @property
    def tail_at(self) -> float | None:
        """T_tail; None before."""
        ...

    @property
    def in_tail(self) -> Mapping[TaskId, int]:
        """The number of them since then, of each task."""
        ...

    @property
    def fruitless(self) -> int:
        """The number that was lost since one returned."""
        ...

    @property
    def given_up(self) -> Mapping[TaskId, int]:
        """The number of each task's that were waited for in vain."""
        ...

    @property
    def lost(self) -> Mapping[TaskId, tuple[float, float]]:
        """The time when the last that was lost was sent, and when that was known."""
        ...

    @property
    def returned(self) -> int:
        """The number that has a result, of those kept."""
        ...

    def sent_by(self, at: float) -> int: ...
    @property
    def told_losses(self) -> Mapping[int, int]:
        """Ends of machines that ran one, by kind, if they were told."""
        ...

    @property
    def busy_seconds(self) -> Mapping[int, float]: ...
    @property
    def effective_size(self) -> float | None:
        """The unreliable slots that were there while tasks waited, on average; None: not known."""
        ...

    @property
    def asked(self) -> Weighing | None: ...
    @property
    def weighed(self) -> Choice | None: ...
    @property
    def preferred(self) -> Written | None: ...
    def sent(self, cluster: int | None = None) -> Sequence[Sent]: ...
