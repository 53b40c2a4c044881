"""First come, first served: how many of the tasks that wait each slot of the machines will begin.

A task goes to the slot that is free first. A new machine is worth its price only if that is one of
its own before the others have begun all that waits.
"""

import heapq
from collections.abc import Sequence
from math import inf
from typing import Final

from bats.common.records import dataclass

ONE_BY_ONE: Final = 4
"""The tasks per slot that are dealt one by one; of more each slot has its share by its speed."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one task at a time. Times are seconds from now."""

    machine: int
    free_at: float
    task_seconds: float
    until: float = inf  # begins nothing from then on


def begun(slots: Sequence[Slot], tasks: int) -> dict[int, int]:
    """The number of tasks that each machine begins; of equals, the slot named first goes first."""
    counts = {slot.machine: 0 for slot in slots}
    heap = [(slot.free_at, place) for place, slot in enumerate(slots)]
    heapq.heapify(heap)
    left = tasks
    for _ in range(min(tasks, ONE_BY_ONE * len(slots))):
        while heap and heap[0][0] >= slots[heap[0][1]].until:
            heapq.heappop(heap)
        if not heap:
            return counts
        at, place = heap[0]
        slot = slots[place]
        counts[slot.machine] += 1
        left -= 1
        heapq.heapreplace(heap, (at + max(slot.task_seconds, 1e-9), place))
    staying = [slots[place] for _, place in heap if slots[place].until == inf]
    speed = sum(1 / max(slot.task_seconds, 1e-9) for slot in staying)
    for slot in staying if left else ():
        counts[slot.machine] += round(left / max(slot.task_seconds, 1e-9) / speed)
    return counts
