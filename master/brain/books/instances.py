"""Instances that unreliable machines were sent: when, and after how long they returned."""

from array import array
from collections.abc import Sequence
from typing import Final

from bats.common.messages import TaskId
from bats.master.brain.unreliable.reliability import Sent

KEPT: Final = 10_000
"""The latest instances; what was before them says little of the machines of today."""
_NEVER: Final = -1.0


class Instances:
    __slots__ = (
        "_at",
        "_back",
        "_first",
        "_open",
        "fruitless",
        "in_tail",
        "living",
        "lost",
        "tail_at",
    )

    def __init__(self) -> None:
        self.tail_at: float | None = None  # T_tail
        self.in_tail: dict[TaskId, int] = {}  # instances since then
        self.living: tuple[int, ...] = ()  # machines of each kind when they were last seen to
        self.fruitless = 0  # lost since one returned
        self.lost: dict[TaskId, tuple[float, float]] = {}  # the last one: when sent, and lost
        self._at = array("d")
        self._back = array("d")
        self._first = 0  # the number of the first that is kept
        self._open: dict[tuple[TaskId, int], int] = {}  # attempts by number

    def send(self, task: TaskId, attempt: int, now: float) -> None:
        self._open[task, attempt] = self._first + len(self._at)
        self._at.append(now)
        self._back.append(_NEVER)
        if self.tail_at is not None:
            self.in_tail[task] = self.in_tail.get(task, 0) + 1
        if len(self._at) > 2 * KEPT:
            self._forget(len(self._at) - KEPT)

    def end(self, task: TaskId, attempt: int, now: float, *, returned: bool) -> None:
        """The instance has a result; or it is known that it will have none."""
        place = self._open.pop((task, attempt), _FORGOTTEN) - self._first
        if place < 0:
            return
        if returned:
            self._back[place] = now - self._at[place]
            self.lost.pop(task, None)
            self.fruitless = 0
        else:
            self.fruitless += 1
            self.lost[task] = self._at[place], now

    def cancel(self, task: TaskId, attempt: int) -> None:
        """The instance was called off before its time: it says nothing of its machine."""
        place = self._open.pop((task, attempt), _FORGOTTEN) - self._first
        if place >= 0:
            self._at[place] = _CALLED_OFF

    def sent(self) -> Sequence[Sent]:
        return [
            Sent(at, None if back == _NEVER else back)
            for at, back in zip(self._at, self._back, strict=True)
            if at != _CALLED_OFF
        ]

    def _forget(self, count: int) -> None:
        del self._at[:count], self._back[:count]
        self._first += count


_FORGOTTEN: Final = -1
_CALLED_OFF: Final = float("-inf")
