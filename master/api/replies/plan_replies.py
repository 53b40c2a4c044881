"""Plans of a bag: what is offered, what stands behind it, what earlier bags taught."""

from typing import TypedDict

from bats.common.money import Money
from bats.master.api.replies.bag_replies import Status


class Bounds(TypedDict):
    """Promises of a schedule, with this confidence."""

    confidence: float
    makespan_seconds: float
    cost: Money
    chance_in_budget: float
    chance_in_deadline: float
    median_seconds: float
    median_cost: Money


class Schedule(TypedDict):
    """One of the offers after a sample; prices and times are for the rest of the bag.

    cheapest = min(bag.schedules(), key=lambda one: one["cost"])
    """

    name: str
    budget: Money
    mix: list[int]
    makespan_seconds: float
    cost: Money
    delta_n: int
    cushion: Money
    raised: Money
    bounds: Bounds | None


class Schedules(TypedDict):
    bag: int
    phase: str
    chosen: str
    balanced: str
    currency: str
    clusters: list[str]
    committed: Money  # until the choice, or until now
    at: float  # seconds that the bag had taken by then
    tasks: int  # of the bag, as far as they are known
    open: bool  # more may come
    schedules: list[Schedule]


class Strategy(TypedDict):
    """A strategy for the rest: what it comes to on average, and how far from it that may be."""

    name: str
    makespan_seconds: float
    makespan_spread: float
    cost: Money
    cost_spread: Money
    reliable_machines: float


class Frontier(TypedDict):
    """The strategies that no other beats in both; none while too little is known."""

    bag: int
    currency: str
    tasks: int
    machines: int
    reliability: float
    mean_seconds: float
    chosen: str
    current: str  # what the bag goes by; "" if it goes by none
    may_change: bool
    strategies: list[Strategy]


class Line(TypedDict):
    beta0: float
    beta1: float
    least: float
    doubt: str | None
    error: float


class Profile(TypedDict):
    """The knowledge of one offering."""

    name: str
    known: int
    mean_seconds: float | None
    line: Line
    start_seconds: float
    start_failures: int
    set_aside: str


class Plan(TypedDict):
    mix: list[int]
    tasks: int
    makespan_seconds: float
    at: float


class Law(TypedDict):
    """The law by which runtimes follow from the sweep's parameters."""

    words: str
    runtimes: int
    explained: float
    error: float


class OfferingShare(TypedDict):
    """The machines of an offering that other bags leave: when the bag was told, and now."""

    name: str
    counted: int
    limit: int
    most: int
    kept: int  # that others leave it, so that it ends as it was told


class Share(TypedDict):
    """Likewise of tasks on machines that serve all bags, and of offerings."""

    counted: int
    now: int
    kept: int
    offerings: list[OfferingShare]


class Explanation(Status):
    """The numbers behind the plan."""

    sample_size: int
    profiles: list[Profile]
    cushion: Money
    delta_n: int
    plan: Plan | None
    law: Law | None
    share: Share | None  # None: nothing was told


class Lost(TypedDict):
    """The losses of an unreliable offering: γ in three epochs as the last bag ended, and more."""

    known: float
    lately: float
    ahead: float
    hazard_per_hour: float
    effective_size: float  # slots that were there while tasks waited, on average; 0: not known


class Lesson(TypedDict):
    """The experience with one command on one offering."""

    command: str
    offering: str
    tasks: int
    mean_seconds: float
    longest_seconds: float
    at: float  # by the calendar
    lost: Lost | None  # None of a reliable offering


class MachineSpeeds(TypedDict):
    """The slowness of the machines of one offering, rising; 1 is their mean."""

    of: str  # tasks, or what they are made of: processor, data in, data out
    offering: str
    machines: int  # that were judged, of all bags
    slowness: list[float]
    at: float  # by the calendar


class Learned(TypedDict):
    learned: list[Lesson]
    speeds: list[MachineSpeeds]


class Forgotten(TypedDict):
    commands: int
