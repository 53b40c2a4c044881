"""Failures that are all alike: the sweep is broken then, and going on only costs."""

from typing import Final

from bats.common.messages import TaskId
from bats.common.outcomes.failures import kind_of

FIRST: Final = 12


class Alike:
    """The tasks that have failed, as long as they fail alike and none succeeds."""

    __slots__ = ("_kind", "broken", "tasks", "why")

    def __init__(self) -> None:
        self.tasks: dict[TaskId, None] = {}
        self.why = ""  # in the words of the first
        self.broken = False  # one has succeeded, or failed in another way
        self._kind = ""

    def add(self, task: TaskId, why: str) -> None:
        if self.broken:
            return
        if not self.why:
            self.why, self._kind = why, kind_of(why)
        if kind_of(why) == self._kind:
            self.tasks[task] = None
        else:
            self.broken = True

    @property
    def enough(self) -> bool:
        """Distinct tasks are counted, however often each may be tried."""
        return not self.broken and len(self.tasks) >= FIRST
