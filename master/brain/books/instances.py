"""Instances that unreliable machines were sent: when, and after how long they returned."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from bats.common.messages import TaskId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.learning.losses import Losses
from bats.master.brain.unreliable.notation import Written
from bats.master.brain.unreliable.reliability import Sent
from bats.master.brain.unreliable.weighing import Weighing


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy that was weighed to be the best, and what was told of it."""

    written: Written
    at: float
    seconds: float  # from the beginning of the bag to its end
    cost: Money  # of all of it


KEPT: Final = 10_000
"""The latest instances; what was before them says little of the machines of today."""
_NEVER: Final = -1.0
_NOT_TOLD: Final = -2.0  # called off in time, or lost with its machine: it says nothing of F


class Instances:
    __slots__ = (
        "_at",
        "_back",
        "_first",
        "_on",
        "_open",
        "asked",
        "asked_at",
        "busy_seconds",
        "fruitless",
        "given_up",
        "had_seconds",
        "in_tail",
        "living",
        "lost",
        "preferred",
        "seen_at",
        "tail_at",
        "told_losses",
        "waited_seconds",
        "weighed",
    )

    def __init__(self) -> None:
        self.tail_at: float | None = None  # T_tail
        self.in_tail: dict[TaskId, int] = {}  # instances since then
        self.living: tuple[int, ...] = ()  # machines of each kind when they were last seen to
        self.fruitless = 0  # lost since one returned
        self.lost: dict[TaskId, tuple[float, float]] = {}  # the last one: when sent, and lost
        self.given_up: dict[TaskId, int] = {}  # instances that were waited for in vain
        self.told_losses: dict[int, int] = {}  # ends of machines that ran one, by kind, if told
        self.busy_seconds: dict[int, float] = {}  # of all instances that have ended, by kind
        self.had_seconds = 0.0  # slots that were there while tasks waited, by how long
        self.waited_seconds = 0.0
        self.seen_at: float | None = None  # when last looked at; None: no task waited then
        self.asked: Weighing | None = None  # which strategy to go on with
        self.asked_at = 0.0
        self.weighed: Choice | None = None  # the answer
        self.preferred: Written | None = None  # the user's word, which nothing else outweighs
        self._at = array("d")
        self._back = array("d")
        self._on = array("h")  # the kind of the machine that each was sent to
        self._first = 0  # the number of the first that is kept
        self._open: dict[tuple[TaskId, int], int] = {}  # attempts by number

    def send(self, task: TaskId, attempt: int, now: float, cluster: int = 0) -> None:
        self._open[task, attempt] = self._first + len(self._at)
        self._on.append(cluster)
        self._at.append(now)
        self._back.append(_NEVER)
        if self.tail_at is not None:
            self.in_tail[task] = self.in_tail.get(task, 0) + 1
        if len(self._at) > 2 * KEPT:
            self._forget(len(self._at) - KEPT)

    def end(
        self, task: TaskId, attempt: int, now: float, *, returned: bool, told: bool = False
    ) -> None:
        """The instance has a result; or it is known that it will have none, and who told.

        A loss that is told is one of machines by the hour, not of so many of their tasks.
        """
        place = self._open.pop((task, attempt), _FORGOTTEN) - self._first
        if place < 0:
            return
        cluster = self._on[place]
        self.busy_seconds[cluster] = self.busy_seconds.get(cluster, 0.0) + now - self._at[place]
        self.told_losses[cluster] = self.told_losses.get(cluster, 0) + told
        if told:
            self.fruitless += 1
            self.lost[task] = self._at[place], now
            self._back[place] = _NOT_TOLD
        elif returned:
            self._back[place] = now - self._at[place]
            self.lost.pop(task, None)
            self.given_up.pop(task, None)
            self.fruitless = 0
        else:
            self.fruitless += 1
            self.given_up[task] = self.given_up.get(task, 0) + 1
            self.lost[task] = self._at[place], now

    def cancel(self, task: TaskId, attempt: int) -> None:
        """The instance was called off before its time: it says nothing of its machine."""
        place = self._open.pop((task, attempt), _FORGOTTEN) - self._first
        if place >= 0:
            self._back[place] = _NOT_TOLD

    def told(self, cluster: int, now: float) -> Losses:
        """The losses of a kind that were told, and the time in which there might have been some.

        What runs is counted: to leave it out would hold machines to be lost more often.
        """
        running = sum(
            now - self._at[place]
            for number in self._open.values()
            if (place := number - self._first) >= 0 and self._on[place] == cluster
        )
        busy = self.busy_seconds.get(cluster, 0.0) + running
        return Losses(told=self.told_losses.get(cluster, 0), busy_seconds=busy)

    @property
    def returned(self) -> int:
        return len(self._back) - self._back.count(_NEVER) - self._back.count(_NOT_TOLD)

    def sent_by(self, at: float) -> int:
        """The number, of those kept, that were sent by then."""
        return bisect_right(self._at, at)

    def wait(self, seconds: float, slots: int) -> None:
        """Tasks wait so long while so many slots are there; the first result tells of a pool."""
        if self.returned:
            self.had_seconds += seconds * slots
            self.waited_seconds += seconds

    @property
    def effective_size(self) -> float | None:
        return self.had_seconds / self.waited_seconds if self.waited_seconds else None

    def sent(self, cluster: int | None = None) -> Sequence[Sent]:
        """Those that tell of all machines, or of one kind."""
        return [
            Sent(at, None if back == _NEVER else back)
            for at, back, on in zip(self._at, self._back, self._on, strict=True)
            if back != _NOT_TOLD and cluster in (None, on)
        ]

    def _forget(self, count: int) -> None:
        del self._at[:count], self._back[:count], self._on[:count]
        self._first += count


_FORGOTTEN: Final = -1
