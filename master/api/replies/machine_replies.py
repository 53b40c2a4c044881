"""Machines of a bag, those of no bag, workers and their keys, the master itself."""

from typing import NotRequired, TypedDict

from bats.common.money import Money
from bats.master.api.replies.bag_replies import SharedSlots
from bats.master.api.replies.cap_replies import CapLine
from bats.master.api.replies.pool_replies import PoolLine


class MachineLine(TypedDict):
    """A machine that the bag has or had; of one that lives, what the engine knows of it."""

    id: int
    number: int
    bag: int
    offering: str
    backend: str
    address: str
    requested: float | None
    charged_since: float | None
    joined: float | None
    gone: float | None
    reason: str
    cost: Money
    state: str
    cluster: NotRequired[str]
    leaving: NotRequired[bool]
    slots: NotRequired[int]
    running: NotRequired[int]
    queued: NotRequired[int]
    done: NotRequired[int]
    requested_at: NotRequired[float]
    joined_at: NotRequired[float | None]
    paid_until: NotRequired[float | None]


class LoanLine(TypedDict):
    """A machine that one bag pays for and on which tasks of another have ended, at no charge."""

    machine: int
    offering: str
    paid_by: int
    used_by: int
    tasks: int
    seconds: float  # of those tasks


class Machines(TypedDict):
    bag: int
    machines: list[MachineLine]
    borrowed: list[LoanLine]
    lent: list[LoanLine]


class Measures(TypedDict):
    """Measures of autoscalers (`bats.master.brain.elasticity.curves`) of a span of time.

    Shares are of one, places are slots of machines.
    """

    most: int
    left_out: float  # share of the time in which more was wanted than there can be
    a_u: float
    a_o: float
    mean_a_u: float
    mean_a_o: float
    t_u: float
    t_o: float
    k: float
    k_less: float
    m_u: float
    mean_supply: float
    hours_on: float  # of all machines
    hours_charged: float
    hours_always_on: float  # if all that there can be had been on all the time
    score: float | None  # s, against that; None: nothing was ever short, idle or unstable


class Elasticity(Measures):
    """Seconds count from the bag's beginning."""

    bag: int
    since_seconds: float
    until_seconds: float


class MasterElasticity(Measures):
    """Of all bags and pools of a master; times are seconds of the epoch."""

    bags: int
    since: float
    until: float


class Orphan(TypedDict):
    """A machine that lives and is in no bag's books."""

    offering: str
    backend: str
    number: int | None
    bag: int | None
    address: str
    charged_seconds: float | None
    cost: Money
    lost: str
    done: str


class Orphans(TypedDict):
    orphans: list[Orphan]
    mute: dict[str, str]  # offerings whose back end did not say, and why


class HandKey(TypedDict):
    """The key of a worker that was started by hand."""

    key: str  # its beginning
    machine: int | None
    host: str
    since: float
    there: bool  # connected now


class HandKeys(TypedDict):
    workers: list[HandKey]


class HandKeyRevoked(TypedDict):
    key: str
    machine: int
    host: str


class Users(TypedDict):
    """The names that keys of clients carry."""

    users: list[str]


class Invited(TypedDict):
    user: str
    access: str  # the file to give them


class Refused(TypedDict):
    keys: int
    handshakes: int
    messages: int


class WorkerLine(TypedDict):
    machine: int
    host: str
    slots: int  # its CPUs
    memory_bytes: int  # that it has for tasks; 0: it does not tell
    gpus: int
    running: int
    silent: bool
    heard_seconds_ago: float


class BagsSnapshot(TypedDict):
    running_bags: list[int]
    queued_bags: list[int]
    paused_bags: list[int]
    tasks: dict[str, int]  # of those that run, by their state
    committed: Money
    settled: Money
    caps: list[CapLine]
    shares: list[SharedSlots]  # of those that run
    pools: list[PoolLine]
    limit: Money | None  # None: one of them has none


class Snapshot(BagsSnapshot):
    """Numbers for whoever watches a master: metrics, a status page."""

    release: str
    master: str
    addresses: list[str]
    up_seconds: float
    lag_seconds: float
    trouble: str
    messages: int
    refused: Refused
    store_backlog: int
    workers: list[WorkerLine]
