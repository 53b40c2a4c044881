"""Requests to a master, one for each verb; `Request[R]` is answered by an `R`.

A client sends its fields beside the verb, and the master reads them back, key by key: `reading`.
One that adds no field is a dataclass by its base.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any, ClassVar, Generic, TypeVar, get_args

from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.api import replies

R = TypeVar("R")


@dataclass(frozen=True)
class Request(Generic[R]):
    verb: ClassVar[str] = ""
    part: ClassVar[type | None] = None  # of an answer that comes in parts, what each of them is

    def body(self) -> dict[str, Any]:
        """The fields as they are sent; what is None is left out."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def reply(cls) -> type:
        """The type of its reply."""
        (base, *_) = cls.__orig_bases__  # type: ignore[attr-defined]
        (reply,) = get_args(base)
        return reply  # type: ignore[no-any-return]


@dataclass(frozen=True)
class OfBag(Request[R]):
    bag: int | str = "last"  # a number, a name, or "last"


class GetBags(Request[replies.Bags]):
    verb = "bags"


class GetStatus(OfBag[replies.Status]):
    verb = "status"


@dataclass(frozen=True)
class AwaitNews(OfBag[replies.News]):
    """Answered when something is new to one who has `seen` that much, or in time."""

    verb = "wait"

    seen: int = 0
    seconds: float = 30.0


class GetSchedules(OfBag[replies.Schedules]):
    verb = "schedules"


@dataclass(frozen=True)
class GetFrontier(OfBag[replies.Frontier]):
    """The strategies for unreliable machines, and the best by a name, a formula or a limit."""

    verb = "frontier"

    pick: str = "product"
    budget: Money | None = None
    deadline_seconds: float | None = None


class Explain(OfBag[replies.Explanation]):
    verb = "explain"


@dataclass(frozen=True)
class GetDecisions(OfBag[replies.Decisions]):
    verb = "decisions"

    since: int = 0


class GetFailures(OfBag[replies.Failures]):
    verb = "failures"


class GetMachines(OfBag[replies.Machines]):
    verb = "machines"


@dataclass(frozen=True)
class GetElasticity(OfBag[replies.Elasticity]):
    """Measures of autoscalers between two moments of the bag, in seconds from its beginning."""

    verb = "elasticity"

    since_seconds: float = 0.0
    until_seconds: float | None = None
    most: int | None = None  # places there can be; None: as many as the offerings have


@dataclass(frozen=True)
class GetMasterElasticity(Request[replies.MasterElasticity]):
    """Measures of autoscalers of all bags and pools, between two times that lie so far back."""

    verb = "elasticity of all"

    since_seconds_ago: float = 3600.0
    until_seconds_ago: float = 0.0
    most: int | None = None  # places there can be; None: as many as pools and offerings have


class GetPools(Request[replies.Pools]):
    verb = "pools"


@dataclass(frozen=True)
class GetTasks(OfBag[replies.Tasks]):
    """A page of the tasks that have ended."""

    verb = "tasks"

    filter: str = ""
    outcomes: list[str] = field(default_factory=list)
    cluster: str = ""
    machine: int | None = None
    sort: str = "task"
    descending: bool = False
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True, kw_only=True)
class GetTask(OfBag[replies.Task]):
    verb = "task"

    task: int


@dataclass(frozen=True)
class GetResults(OfBag[replies.Results]):
    """All results in the order of the tasks, from task `since` on."""

    verb = "results"
    part = replies.ResultsPart

    since: int = 0
    columns: bool = False  # tell the types of the values told, too
    output: bool = False  # with all that each task wrote to stdout


@dataclass(frozen=True, kw_only=True)
class GetLog(OfBag[replies.Log]):
    """A piece of a task's output from `offset` on; `attempt` 0 is the one whose result counts."""

    verb = "log"

    task: int
    stream: str = "out"
    attempt: int = 0
    offset: int = 0
    live: bool = False  # also of a task that still runs


@dataclass(frozen=True)
class Export(OfBag[replies.OfBag]):
    """The bag as text: its tasks as `jsonl` or `csv`, or all that is known of its `run`."""

    verb = "export"
    part = replies.ExportPart

    format: str = "jsonl"
    output: bool = False  # with all that each task wrote to stdout
    raw: bool = False  # with cells that a spreadsheet would take for formulas as they are


class Release(OfBag[replies.BagState]):
    verb = "release"


@dataclass(frozen=True)
class Choose(OfBag[replies.Chosen]):
    """Take the schedule of that name, or what a limit allows."""

    verb = "choose"

    rule: str = "fastest"
    budget: Money | None = None
    cushion: Money | None = None
    deadline_seconds: float | None = None
    strategy: str = ""  # for unreliable machines, instead of a schedule


@dataclass(frozen=True)
class Allow(OfBag[replies.Allowed]):
    """Allow it so much money or time in all; what was chosen stays."""

    verb = "allow"

    budget: Money | None = None
    deadline_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class LeaveOut(OfBag[replies.LeftOut]):
    """Do without these tasks of a bag that runs; what runs of them is stopped."""

    verb = "drop"

    tasks: list[int]


@dataclass(frozen=True, kw_only=True)
class Add(OfBag[replies.Added]):
    """Add the tasks of a space to an open bag; asked again with the same key it adds nothing."""

    verb = "add"

    space: dict[str, Any]
    key: str


@dataclass(frozen=True)
class Close(OfBag[replies.BagState]):
    """No more tasks are added: the bag ends when those it has have ended."""

    verb = "close"


@dataclass(frozen=True)
class Retry(OfBag[replies.Retried]):
    """Try failed tasks again: all that "failed", or those of a list."""

    verb = "retry"

    tasks: str | list[int] = "failed"


@dataclass(frozen=True)
class Pause(OfBag[replies.Told]):
    """Begin and buy nothing more until it is resumed; what runs may end in its paid time."""

    verb = "pause"

    reason: str = "paused by the user"


@dataclass(frozen=True)
class Weigh(OfBag[replies.Weighed]):
    """Give it another part of what bags share; what is None stays."""

    verb = "weigh"

    weight: int | None = None
    priority: int | None = None


class Resume(OfBag[replies.Told]):
    verb = "resume"


@dataclass(frozen=True)
class Cancel(OfBag[replies.BagState]):
    verb = "cancel"

    reason: str = "cancelled by the user"


class Prune(OfBag[replies.Pruned]):
    verb = "prune"


@dataclass(frozen=True)
class FindOrphans(Request[replies.Orphans]):
    """Machines that are in no bag's books; `do`: "stop" them, or "adopt" them."""

    verb = "orphans"

    do: str = ""


class GetHandKeys(Request[replies.HandKeys]):
    verb = "workers"


@dataclass(frozen=True, kw_only=True)
class RevokeHandKey(Request[replies.HandKeyRevoked]):
    """Lock out one worker; the others stay, and the invitation that it had is void."""

    verb = "revoke"

    key: str


class GetUsers(Request[replies.Users]):
    verb = "users"


@dataclass(frozen=True, kw_only=True)
class Invite(Request[replies.Invited]):
    """A client's key that carries a name: its bags, and no others, are theirs."""

    verb = "invite"

    user: str


@dataclass(frozen=True, kw_only=True)
class Dismiss(Request[replies.Users]):
    """Lock out the key that carries this name; bags of theirs go on."""

    verb = "dismiss"

    user: str


class GetCaps(Request[replies.Caps]):
    verb = "caps"


@dataclass(frozen=True, kw_only=True)
class SetCap(Request[replies.Caps]):
    """Let all bags, or those of a user, spend no more in each day, week or month, or for good."""

    verb = "cap"

    amount: Money
    period: str = "ever"
    user: str = ""
    zone: str = ""


@dataclass(frozen=True)
class RemoveCap(Request[replies.Caps]):
    verb = "uncap"

    period: str = "ever"
    user: str = ""


class GetPlacement(Request[replies.Placement]):
    verb = "placement"


@dataclass(frozen=True, kw_only=True)
class SetPlacement(Request[replies.Placement]):
    """Let the placement of this name say which task of which bag goes first, from now on."""

    verb = "place"

    placement: str


class GetSnapshot(Request[replies.Snapshot]):
    verb = "snapshot"


@dataclass(frozen=True)
class ShutDown(Request[replies.Nothing]):
    verb = "shutdown"

    reason: str = "asked to by a client"


@dataclass(frozen=True, kw_only=True)
class Submit(Request[replies.Submitted]):
    """A sweep to run. What is None is as the sweep says, and else as usual.

    A key that is not known here is refused: a wrong word must not decide something else.
    """

    verb = "submit"

    sweep: Mapping[str, Any]  # as it writes itself
    offerings: Sequence[Mapping[str, Any]] | None = None  # the fields of each; None: the master's
    inputs: Sequence[tuple[str, str, int, int]] | None = None  # name, sha256, bytes, mode
    output_folder: str | None = None  # None: one of the master's
    name: str | None = None
    # What it may cost and take, and who comes first.
    budget: Money | None = None
    currency: str | None = None
    deadline_seconds: float | None = None
    rule: str | None = None
    hold: bool | None = None
    weight: int | None = None
    priority: int | None = None
    after: Sequence[int | str] | None = None  # bags that must have ended before
    # What becomes of tasks that fail or are lost.
    retries: int | None = None
    max_failures: int | None = None
    losses: int | None = None
    # How the scheduler decides.
    tail: str | None = None
    strategy: str | None = None
    provisioner: str | None = None
    planner: str | None = None
    sampling: str | None = None
    initial_workers: int | None = None
    replicated: int | None = None
    replicate: bool | None = None
    upgrade: bool | None = None
    prudence: float | None = None
    monitor_seconds: float | None = None
    patience_seconds: float | None = None
    seed: int | None = None
    term_seconds: float | None = None  # of releases up to 0.1.0; without effect


class GetLearned(Request[replies.Learned]):
    verb = "learned"


@dataclass(frozen=True)
class Forget(Request[replies.Forgotten]):
    """Forget what was learned of the command that is written so; of all, without one."""

    verb = "forget"

    command: str | None = None
