"""Events of a run. Each is a fact of the journal; the time comes beside it."""

from enum import Enum, StrEnum
from typing import NamedTuple, Protocol

from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.planning.schedules import Schedule


@dataclass(frozen=True, slots=True)
class Begin:
    """The bag is there; machines may be asked for."""


@dataclass(frozen=True, slots=True)
class Charged:
    """The provider charges for this machine since then, whether or not it has joined."""

    machine: MachineId
    since: float


@dataclass(frozen=True, slots=True)
class Joined:
    """A worker is there, new or again; `holding` are the attempts it still has.

    A machine that nobody asked for (started by hand) comes with the cluster it belongs to.
    """

    machine: MachineId
    slots: int
    holding: tuple[tuple[TaskId, int], ...] = ()
    cluster: int = -1


@dataclass(frozen=True, slots=True)
class Silent:
    """Heartbeats stay out. The machine may be dead or only cut off; it is still charged."""

    machine: MachineId


@dataclass(frozen=True, slots=True)
class Announced:
    """The provider has said that it takes this machine away soon; it still runs and is charged."""

    machine: MachineId
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A machine that was held to be gone lives; its bill since then is in no books yet."""

    machine: MachineId
    unpaid_since: float | None  # None: it is not charged yet


class Cause(Enum):
    """The cause of a machine's end, as far as the brain must tell it apart."""

    STOPPED = "stopped"  # as asked
    EXPIRED = "expired"  # its lease or time limit ended
    PREEMPTED = "pre-empted"  # taken away by the provider
    FAILED = "failed"  # did not start, or broke


@dataclass(frozen=True, slots=True)
class Gone:
    """The machine is not charged any more since `at`."""

    machine: MachineId
    at: float
    cause: Cause
    detail: str = ""


class AnyEnding(Protocol):
    """The end of one attempt: the brain's share of a result, which asks for nothing else of it."""

    @property
    def task(self) -> TaskId: ...
    @property
    def attempt(self) -> int: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def seconds(self) -> float: ...
    @property
    def why(self) -> str: ...


class Ending(NamedTuple):
    """Just that much: what a journal tells and what is simulated; a live result is told whole."""

    task: TaskId
    attempt: int
    outcome: Outcome
    seconds: float
    why: str = ""  # it failed, in words by which failures can be compared; "" is not known


@dataclass(frozen=True, slots=True)
class Ended:
    machine: MachineId
    endings: tuple[AnyEnding, ...]


@dataclass(frozen=True, slots=True)
class Collecting:
    """Attempts that have succeeded there; what they left is on its way. `Ended` tells the end."""

    machine: MachineId
    attempts: tuple[tuple[TaskId, int], ...]


@dataclass(frozen=True, slots=True)
class Returned:
    """Attempts that a machine gives back unstarted."""

    machine: MachineId
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The user's word: a schedule by name or rule, with more money or a new deadline if given."""

    rule: str
    budget: Money | None = None
    deadline_seconds: float | None = None
    cushion: Money | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """The user allows more (or less) money or time in all; what was chosen stays."""

    budget: Money | None = None
    deadline_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The user does without these tasks."""

    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class Added:
    """The user adds so many tasks to an open bag; they are numbered on."""

    tasks: int


@dataclass(frozen=True, slots=True)
class AllAdded:
    """The user adds no more: the bag ends when its tasks have."""


@dataclass(frozen=True, slots=True)
class Foretold:
    """The answer to `Foretell`: what the schedules come to, with bounds; none if nobody knows."""

    schedules: tuple[Schedule, ...]


@dataclass(frozen=True, slots=True)
class Weighed:
    """The answer to `Weigh`: the strategy to go on with, and what the whole bag comes to by it.

    "" is none, for nothing that comes back would end the bag. `seconds` are from when it was asked.
    """

    strategy: str
    seconds: float
    cost: Money  # of the whole bag
    efficient: int  # strategies that it was chosen from
    kept: bool  # whether the limits should hold


@dataclass(frozen=True, slots=True)
class Preferred:
    """The user's word: the strategy for unreliable machines to go on with, as `read` takes it."""

    strategy: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    reason: str


@dataclass(frozen=True, slots=True)
class Retried:
    """The user wants these failed tasks tried again."""

    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class Suspended:
    """The user wants the run to stand still until it is resumed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """The user wants a paused run to go on."""


@dataclass(frozen=True, slots=True)
class Hampered:
    """The master gives no orders away, as while its disk is full; with no reason it does again."""

    reason: str


@dataclass(frozen=True, slots=True)
class SetAside:
    """No more machines can be had of this offering, for this reason."""

    cluster: int
    reason: str


@dataclass(frozen=True, slots=True)
class Woken:
    """The time that a `WakeAt` asked for has come."""


@dataclass(frozen=True, slots=True)
class Granted:
    """So many slots of a machine that several bags use are this bag's from now on.

    Fewer than it fills take nothing away: it begins nothing more there until some have ended.
    """

    machine: MachineId
    slots: int


@dataclass(frozen=True, slots=True)
class Limited:
    """The bag may have so many machines of the offering: others have or want the rest."""

    cluster: int
    machines: int


@dataclass(frozen=True, slots=True)
class Allotted:
    """The bag may have committed so much in all, by what others leave of a cap; None: no cap."""

    amount: Money | None
    cap: str = ""  # the one that leaves least, in words
    until: str = ""  # its window ends, in words; "" never


class Order(StrEnum):
    """Ways to choose among tasks that wait for nothing but a machine."""

    RANDOM = "random"
    LONGEST = "longest"  # the way from it to the end of the bag, first
    SHORTEST = "shortest"


@dataclass(frozen=True, slots=True)
class Ordered:
    """Ready tasks are begun in this order from now on, as the placement of the master says."""

    order: Order


@dataclass(frozen=True, slots=True)
class Lends:
    """Paid time that the bag has no use for goes to other bags from now on, or no longer."""

    to_others: bool


@dataclass(frozen=True, slots=True)
class Unwanted:
    """No other bag has a use for what is left of this machine's paid time."""

    machine: MachineId


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A machine that another bag pays for runs so many tasks of this one, at most until then."""

    machine: MachineId
    cluster: int
    slots: int
    until: float


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The bag that pays for it needs it, or its time has ended: what runs there goes back."""

    machine: MachineId


# --- what the store says beside the journal, to an engine that would have decided otherwise -------


@dataclass(frozen=True, slots=True)
class Asked:
    """The machine was asked for, whatever would be decided today."""

    machine: MachineId
    cluster: int
    at: float


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Tasks that were recorded as failed."""

    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class Closed:
    """The bag ended so, which no event of its journal says by itself."""

    outcome: str  # a BagOutcome
    words: str


Event = (
    Begin
    | Charged
    | Joined
    | Silent
    | Announced
    | Found
    | Gone
    | Ended
    | Collecting
    | Returned
    | Chosen
    | Foretold
    | Weighed
    | Preferred
    | Allowed
    | LeftOut
    | Added
    | AllAdded
    | Cancelled
    | Retried
    | Suspended
    | Resumed
    | Hampered
    | SetAside
    | Woken
    | Granted
    | Limited
    | Allotted
    | Ordered
    | Lends
    | Unwanted
    | Borrowed
    | TakenBack
    | Asked
    | GivenUp
    | Closed
)
