"""Notices to the household. Times are seconds of the calendar, which all bags have in common."""

import math
from dataclasses import field

from bats.common.capacity.resources import Resources
from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.household.cap import Cap
from bats.master.brain.protocol.commands import WakeAt
from bats.master.brain.protocol.course import Course
from bats.master.brain.protocol.events import Order


@dataclass(frozen=True, slots=True)
class Opened:
    """A bag runs from now on, or goes on.

    `takes` are the kinds of common machines that can run its tasks, "" those started without a
    kind; `task` is what each of its tasks takes of a machine.
    """

    bag: BagId
    user: str = ""
    weight: float = 1.0
    priority: int = 0
    takes: tuple[str, ...] = ("",)
    task: Resources = field(default_factory=Resources)
    began: float = 0.0
    order: Order = Order.RANDOM  # in which it begins ready tasks, as far as it was told


@dataclass(frozen=True, slots=True)
class Needs:
    """The bag could run so many tasks now, those included that run."""

    bag: BagId
    tasks: int


@dataclass(frozen=True, slots=True)
class Keeps:
    """The bag was told since when it ends: it needs room for so many tasks to end by then.

    Likewise machines of places that bags have in common.
    """

    bag: BagId
    since: float
    tasks: int
    machines: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Weighed:
    """The bag counts for so much from now on."""

    bag: BagId
    weight: float
    priority: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The bag runs no more; what it had is for others."""

    bag: BagId


@dataclass(frozen=True, slots=True)
class Came:
    """A common machine is there; some bags may run tasks on it already."""

    machine: MachineId
    slots: int
    kind: str = ""
    running: tuple[tuple[BagId, int], ...] = ()  # the slots that each bag fills
    memory_bytes: int = 0
    gpus: int = 0
    paid_by: BagId | None = None  # the bag that lends it
    until: float = math.inf  # it is taken back then at the latest

    @property
    def size(self) -> Resources:
        return Resources(self.slots, self.memory_bytes, self.gpus)


@dataclass(frozen=True, slots=True)
class Runs:
    """The bag can run tasks on common machines of these kinds from now on."""

    bag: BagId
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Went:
    """The machine is gone, or silent."""

    machine: MachineId


@dataclass(frozen=True, slots=True)
class Takes:
    """The machine gets new tasks from now on, or ends those it has and gets none."""

    machine: MachineId
    takes: bool


@dataclass(frozen=True, slots=True)
class Fills:
    """The bag still fills so many slots there: told after a grant was lowered, and as they end."""

    bag: BagId
    machine: MachineId
    slots: int


@dataclass(frozen=True, slots=True)
class Left:
    """The bag has let the machine go, as it is paused or ends."""

    bag: BagId
    machine: MachineId


@dataclass(frozen=True, slots=True)
class Uses:
    """The bag has so many machines of an offering that others may have as well, or wants them.

    `most` is how many there are at all.
    """

    bag: BagId
    place: str
    machines: int
    wanted: int
    most: int
    limit: int  # how many it may have as far as it was told


@dataclass(frozen=True, slots=True)
class Spent:
    """The money of a bag for ATUs that begin at each of these times or later."""

    bag: BagId
    user: str
    currency: str
    since: tuple[tuple[float, Money], ...]


@dataclass(frozen=True, slots=True)
class Capped:
    """These caps stand from now on, and no others; with what bags have spent that do not run."""

    caps: tuple[Cap, ...]
    spent: tuple[Spent, ...] = ()


@dataclass(frozen=True, slots=True)
class Committed:
    """The bag runs and has spent or reserved so much, in all and by the windows of caps."""

    spent: Spent
    in_all: Money
    allowed: Money | None  # as far as it was told
    waits: bool = False  # what it was told leaves too little for it to go on


@dataclass(frozen=True, slots=True)
class Placed:
    """Slots go to bags, and tasks to slots, by the placement of this name from now on."""

    placement: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """The bag has this before it: told only while the placement asks."""

    bag: BagId
    course: Course


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The time that a `WakeAt` asked for has come."""


Notice = (
    Opened
    | Needs
    | Keeps
    | Weighed
    | Closed
    | Came
    | Runs
    | Went
    | Takes
    | Fills
    | Left
    | Uses
    | Capped
    | Committed
    | Placed
    | Progressed
    | TimePassed
)


# --- what it answers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grant:
    """So many slots of the machine are the bag's from now on.

    Fewer than it fills take nothing away: it begins nothing more there, and `Fills` says the rest.
    """

    bag: BagId
    machine: MachineId
    slots: int


@dataclass(frozen=True, slots=True)
class Limit:
    """So many machines of the offering may be the bag's; those beyond that it has, it keeps."""

    bag: BagId
    place: str
    machines: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """The bag may have committed so much in all, by what others leave of a cap; None: no cap."""

    bag: BagId
    amount: Money | None
    cap: str = ""  # the one that leaves least, in words
    until: str = ""  # its window ends, in words; "" never


@dataclass(frozen=True, slots=True)
class Arrange:
    """The bag begins its ready tasks in this order from now on."""

    bag: BagId
    order: Order


Answer = Grant | Limit | Allowance | Arrange | WakeAt
