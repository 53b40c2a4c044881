"""Bags: all of them, how one stands, news of one."""

from typing import NotRequired, TypedDict

from bats.common.money import Money
from bats.master.api.replies.cap_replies import CapLine
from bats.master.api.replies.pool_replies import PoolLine


class Paused(TypedDict):
    """The reason why a bag stands still, and what its user may do."""

    reason: str
    since: float
    task: int | None
    again: bool
    budget: Money | None  # in all, that would do, if it is money that it waits for
    ways: str


class Failure(TypedDict):
    why: str
    tasks: int
    first: int


class BagLine(TypedDict):
    """A bag in a list of bags."""

    bag: int
    name: str
    tasks: int
    state: str
    created: float
    began: float | None
    ended: float | None
    words: str
    phase: NotRequired[str]
    done: NotRequired[int]
    failed: NotRequired[int]
    failing: NotRequired[int]  # that failed, which paused it, and are not given up
    spent: NotRequired[Money]
    paused: NotRequired[Paused | None]
    held_by_cap: NotRequired[str]
    open: NotRequired[bool]  # of one that runs: more tasks may come
    user: NotRequired[str]  # whose it is; "" of the master's own access file
    unserved_since: NotRequired[float]
    running: NotRequired[int]  # of one that runs, as all below
    eta_seconds: NotRequired[float | None]
    limit: NotRequired[Money | None]
    reserved: NotRequired[Money]
    machines: NotRequired[int]  # that it pays for, or started itself
    slots: NotRequired[int]  # that it has of common machines
    weight: NotRequired[float]
    priority: NotRequired[int]
    currency: NotRequired[str]


class SharedSlots(TypedDict):
    """The slots of common machines that a bag has."""

    bag: int
    slots: int


class OwnedMachines(TypedDict):
    """Machines of one offering that one bag pays for; common ones are those of no bag."""

    bag: int | None
    offering: str
    machines: int  # at work
    starting: int
    slots: int  # of those at work
    running: int  # tasks
    spent: Money
    currency: str
    shares: list[SharedSlots]  # of common ones, and of those that are lent


class Bags(TypedDict):
    bags: list[BagLine]
    caps: NotRequired[list[CapLine]]  # of a master that runs, as what follows
    machines: NotRequired[list[OwnedMachines]]
    pools: NotRequired[list[PoolLine]]


class ClusterStatus(TypedDict):
    name: str
    price: Money  # per machine and ATU
    atu_seconds: float
    slots: int
    limit: int
    machines: int  # that stay
    leaving: int
    planned: int
    known: int
    mean_seconds: float
    start_seconds: float
    doubt: str
    set_aside: str


class MachineStatus(TypedDict):
    id: int
    cluster: str
    state: str
    leaving: bool
    slots: int
    running: int
    queued: int
    done: int
    requested_at: float
    joined_at: float | None
    charged_since: float | None
    paid_until: float | None
    cost: Money


class StepStatus(TypedDict):
    """One step of a workflow: its tasks by their states."""

    name: str
    total: int
    waiting: int
    blocked: int
    running: int
    done: int
    failed: int
    cut_off: int


class Promise(TypedDict):
    """The promise of a whole run when it was decided; the bounds hold with 90 % confidence."""

    name: str
    at: float
    seconds: float
    seconds_bound: float
    cost: Money
    cost_bound: Money
    tasks: NotRequired[int]  # known then, which it is for


class RunStatus(TypedDict, total=False):
    """The numbers of a bag that has begun; of one that has ended those of its end."""

    now: float
    phase: str
    outcome: str | None
    paused: Paused | None
    total: int
    waiting: int
    running: int
    done: int
    failed: int
    blocked: int  # by tasks that are not done
    dropped: int
    cut_off: int  # by tasks that failed for good
    duplicates: int
    budget: Money | None
    limit: Money | None
    spent: Money
    reserved: Money
    left: Money | None
    held_by_cap: str
    chosen: str
    chosen_at: float
    chosen_committed: Money
    told: Promise | None
    looks: list[Promise]  # what it came to at each look since, the last by now
    at_risk: str  # a bound that will hardly hold, and what can be done
    began_at: float
    ended_at: float | None
    deadline_at: float | None
    deadline_missed: bool
    N_e: int
    N_p: int
    speed: float
    eta_seconds: float | None
    eta_bounds: list[float] | None
    plan_made_at: float | None
    plan_ends_at: float | None
    next_look_at: float
    next_boundary_at: float | None
    clusters: list[ClusterStatus]
    machines: list[MachineStatus]
    steps: list[StepStatus]  # of a workflow
    open: bool  # more tasks may come: all is for those known so far
    stood_still: NotRequired[float]  # since the choice; a store of before has none
    strategy: NotRequired[str]  # for unreliable machines, that it goes by instead of a schedule
    failing: NotRequired[int]  # tasks that failed, which paused it, and are not given up


class Status(RunStatus):
    """A bag in full. Times of a run are its own seconds, counted from its beginning."""

    bag: int
    name: str
    state: str
    words: str
    created: float
    began: float | None
    ended: float | None
    currency: str
    output_folder: str
    over: bool
    parameters: list[str]  # of each task
    unserved_since: NotRequired[float]  # of a bag that no master serves
    failures: NotRequired[list[Failure]]  # as the command line adds them
    trouble: NotRequired[str]  # the reason why the master begins nothing new


class News(Status):
    seen: int  # to be said when asked again


class Decision(TypedDict):
    number: int
    time: float
    words: str


class Decisions(TypedDict):
    bag: int
    decisions: list[Decision]


class Failures(TypedDict):
    bag: int
    failures: list[Failure]
