"""Common machines: their slots, which bag has how many of them, and which are still filled.

A slot is one of a machine's CPUs. A task that takes much of its memory or its GPUs has as many
slots as make up that part of the CPUs, so that whatever has slots of a machine fits on it together.
"""

from collections.abc import Iterable
from typing import NamedTuple

from bats.common.capacity.resources import Resources
from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId
from bats.master.brain.household.notices import Came


class Group(NamedTuple):
    """Machines that are alike to all bags."""

    kind: str
    size: Resources


class CommonMachine:
    """`fills` holds only what is filled beyond the grant: slots that are on their way to others.

    One that takes no tasks ends those it has: nobody is granted anything of it.
    """

    __slots__ = ("fills", "free", "granted", "group", "id", "paid_by", "slots", "takes", "until")

    def __init__(self, came: Came) -> None:
        self.id = came.machine
        self.slots = self.free = came.slots
        self.group = Group(came.kind, came.size)
        self.paid_by, self.until = came.paid_by, came.until
        self.granted: dict[BagId, int] = {}
        self.fills: dict[BagId, int] = {}
        self.takes = True

    def held(self, bag: BagId) -> int:
        """Its slots that nobody else can have now."""
        return max(self.granted.get(bag, 0), self.fills.get(bag, 0))

    def grant(self, bag: BagId, slots: int) -> None:
        """Lowered, it counts as filled until it is told otherwise."""
        held = self.held(bag)
        self.granted[bag] = slots
        self._fill(bag, held)
        self.free += held - self.held(bag)

    def fill(self, bag: BagId, slots: int) -> None:
        held = self.held(bag)
        self._fill(bag, slots)
        self.free += held - self.held(bag)

    def forget(self, bag: BagId) -> None:
        self.free += self.held(bag)
        self.granted.pop(bag, None)
        self.fills.pop(bag, None)

    def _fill(self, bag: BagId, slots: int) -> None:
        if slots > self.granted.get(bag, 0):
            self.fills[bag] = slots
        else:
            self.fills.pop(bag, None)

    def check(self, bags: Iterable[BagId]) -> None:
        if not self.granted.keys() | self.fills.keys() <= set(bags):
            raise BrokenInvariantError(f"machine {self.id} is granted to a bag that does not run")
        if sum(self.granted.values()) > self.slots:
            raise BrokenInvariantError(f"more slots of machine {self.id} are granted than it has")
        if self.free != self.slots - sum(map(self.held, self.granted.keys() | self.fills.keys())):
            raise BrokenInvariantError(f"the free slots of machine {self.id} are miscounted")
        if any(filled <= self.granted.get(bag, 0) for bag, filled in self.fills.items()):
            raise BrokenInvariantError(f"machine {self.id} waits for slots that are granted")


def slots_of(tasks: int, task: Resources, size: Resources) -> int:
    """The slots of a machine of this size that so many tasks fill."""
    return min(size.cpus, tasks * size.width(task))


def tasks_in(slots: int, task: Resources, size: Resources) -> int:
    """The tasks that have room in so many slots: in all of them as many as the machine holds."""
    return size.holds(task) if slots >= size.cpus else slots // size.width(task)
