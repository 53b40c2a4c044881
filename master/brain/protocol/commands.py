"""Commands of the engine to its driver. Never refused: what comes of one is an event."""

from enum import Enum

from bats.common.messages import MachineId, TaskId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.events import AnyEnding
from bats.master.brain.unreliable.weighing import Weighing


@dataclass(frozen=True, slots=True)
class StartMachines:
    cluster: int
    machines: tuple[MachineId, ...]


@dataclass(frozen=True, slots=True)
class StopMachine:
    """Stop it and end its bill; answered by `Gone`."""

    machine: MachineId
    reason: str


@dataclass(frozen=True, slots=True)
class RunTasks:
    """Pairs of task and attempt for one machine, in this order."""

    machine: MachineId
    orders: tuple[tuple[TaskId, int], ...]


@dataclass(frozen=True, slots=True)
class KillTask:
    """Kill a task whose result is not wanted any more; answered by a KILLED ending."""

    machine: MachineId
    task: TaskId
    attempt: int


@dataclass(frozen=True, slots=True)
class Record:
    """Record endings that settle their tasks: each task is recorded once, by its first result.

    They are those of the event that told them, so that whoever told more has it back.
    """

    machine: MachineId
    endings: tuple[AnyEnding, ...]


@dataclass(frozen=True, slots=True)
class RenewLease:
    """The machine may live until then, and must be gone by then unless renewed."""

    machine: MachineId
    until: float


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Woken` at that time; replaces the earlier wish."""

    at: float


@dataclass(frozen=True, slots=True)
class Offer:
    """The schedules to choose from, the first time and whenever they have changed."""

    schedules: tuple[Schedule, ...]


@dataclass(frozen=True, slots=True)
class Foretell:
    """Run each of these ahead, in virtual time; answered by `Foretold`.

    Before the choice each is taken by its name; after it the one is what has been decided.
    """

    schedules: tuple[Schedule, ...]


@dataclass(frozen=True, slots=True)
class Weigh:
    """Find the strategy for unreliable machines to go on with; answered by `Weighed`."""

    asked: Weighing


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision about money or machines, in words for the user."""

    words: str


@dataclass(frozen=True, slots=True)
class Pause:
    """The reason for which, and the time since when, a run begins and buys nothing."""

    reason: str
    since: float
    task: TaskId | None  # one that shows it
    again: bool  # whether what failed is tried again when the run goes on
    machines: tuple[int, ...] = ()  # of each kind that were there, not to leave
    budget: Money | None = None  # in all, that would do, if it is money that it waits for


@dataclass(frozen=True, slots=True)
class Paused:
    """A pause: nothing is begun or bought until the user says how to go on; told with the ways."""

    pause: Pause


class BagOutcome(Enum):
    COMPLETE = "complete"  # every task done
    WITH_FAILURES = "with failures"  # every task done or given up
    OUT_OF_BUDGET = "out of budget"
    NO_MACHINES = "no machines"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class EndBag:
    """No task of the bag will run any more; machines are being stopped."""

    outcome: BagOutcome
    words: str


Command = (
    StartMachines
    | StopMachine
    | RunTasks
    | KillTask
    | Record
    | RenewLease
    | WakeAt
    | Offer
    | Foretell
    | Weigh
    | Decided
    | Paused
    | EndBag
)
