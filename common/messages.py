"""Messages between master, worker and client: small typed facts, with a version.

Times on the wire are durations, never clock readings: the clocks of two machines do not agree.
A worker's `stamp` is a reading of its own clock, which comes back to it; nobody else reads it.
"""

import enum
from dataclasses import field
from typing import Any, Final, NamedTuple, NewType

from bats.common.records import dataclass

PROTOCOL: Final = 1
"""Raised with every change that an older peer would misunderstand."""

BagId = NewType("BagId", int)
TaskId = NewType("TaskId", int)  # the row of the sweep, from 0
MachineId = NewType("MachineId", int)  # counted by the master; never used twice


class AttemptId(NamedTuple):
    """One execution of a task."""

    bag: BagId
    task: TaskId
    attempt: int  # from 1


class Outcome(enum.IntEnum):
    """The way in which an attempt ended."""

    DONE = 0  # exit code 0
    FAILED = 1  # another exit code, or ended by a signal that was not ours
    TIMED_OUT = 2  # ran longer than the bag allows
    KILLED = 3  # the master asked for it, or the worker stopped
    NOT_STARTED = 4  # could not be started: no such program, no such folder, disk full


LIMITS_ENFORCED: Final = "enforced"  # by the kernel: never more
LIMITS_WATCHED: Final = "watched"  # looked at each second


# --- worker to master ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """First on every connection; a worker that knew this master before says what it holds."""

    release: str
    machine: MachineId  # -1: started by hand, nobody asked for it; `Welcome` says its number
    incarnation: str  # random, one per daemon process
    slots: int
    host: str
    pid: int
    holding: tuple[AttemptId, ...]  # queued, running, or ended with a result yet to be stored
    unacknowledged: int  # results still in the outbox
    offering: str = ""  # of a machine started by hand: which offering it counts as
    limits: str = ""  # how it holds tasks to those of their bag; older releases do not
    memory_bytes: int = 0  # that tasks may use in all; 0: an older release, which does not tell
    gpus: int = 0
    stamp: float = 0.0  # 0: an older release, whose leases count from when it hears of them
    protocol: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class Enroll:
    """A single-use ticket's holder asks to be known by a key of its own from now on."""

    machine: MachineId
    public_key: bytes


@dataclass(frozen=True, slots=True)
class Heartbeat:
    running: tuple[tuple[AttemptId, float], ...]  # with elapsed seconds
    queued: int
    lease_seconds: float  # what is left of it, as the worker sees it
    held: tuple[AttemptId, ...] = ()  # not running: queued, or their files are being collected
    ended: tuple[AttemptId, ...] = ()  # with results that are not stored, as far as it knows
    serial: int = 0  # of its last batch of results
    whole: bool = False  # nothing is left out; it may be too much, or an older release
    stamp: float = 0.0


NOBODY: Final = MachineId(-1)


class Result(NamedTuple):
    """The result of one attempt: as its worker tells it, as the store keeps it, as users are told.

    A tuple, because there are a million of them.
    """

    bag: BagId
    task: TaskId
    attempt: int
    outcome: Outcome
    exit_code: int  # negative: ended by that signal
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_kib: int
    output_bytes: int  # of stdout and stderr together, before any cut
    excerpt: str  # of a failure the last lines of stderr (else stdout); when done, `values.kept`
    slot: int
    outputs: tuple[tuple[str, str, int], ...] = ()  # collected files: name, sha256, bytes
    # The master adds the rest; it is never on the wire.
    machine: MachineId = NOBODY
    cluster: str = ""
    started: float = 0.0  # seconds of the bag
    why: str = ""  # it failed, in words by which failures can be compared; not in the store

    @property
    def seconds(self) -> float:
        """The seconds that the scheduler counts."""
        return self.wall_seconds


TOLD_BY_WORKER: Final = 1 + Result._fields.index("outputs")
"""The number of a result's fields that are on the wire."""


@dataclass(frozen=True, slots=True)
class Results:
    """A batch; kept in the worker's outbox until `ResultsStored(serial)`."""

    serial: int
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Returned:
    """Attempts handed back unstarted, because they waited too long behind a running task."""

    attempts: tuple[AttemptId, ...]


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The answer to `Look`. Nothing at all: it does not run here (any more)."""

    of: AttemptId
    stream: str
    offset: int
    data: bytes  # from there on, as much as fits
    total: int  # what is written so far


@dataclass(frozen=True, slots=True)
class Goodbye:
    reason: str


# --- master to worker ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Welcome:
    release: str
    heartbeat_seconds: float
    lease_seconds: float  # from now; the worker ends itself after that unless renewed
    machine: MachineId = MachineId(-1)  # the number given to one that came by hand
    stamp: float = 0.0  # the lease counts from there, if there is one


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal: said once, then the connection is ignored; `retry` if trying again can help."""

    reason: str
    retry: bool = False


@dataclass(frozen=True, slots=True)
class BagSpec:
    """A bag as its workers must know it; sent once per connection, before the bag's tasks.

    `command` (shell) or `argv` (no shell) are templates with `{name}` placeholders, as are
    `cwd`, the values of `env`, `stdin` and `outputs`; each task brings the values of `names`.
    """

    bag: BagId
    names: tuple[str, ...]
    command: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""
    env: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    timeout_seconds: float = 0.0  # 0: none
    grace_seconds: float = 2.0  # between INT, TERM and KILL for a task that must end
    output_folder: str = ""  # where stdout and stderr go when that folder is shared; else sent back
    output_cap_bytes: int = 1 << 20  # per stream; head and tail are kept
    inputs: tuple[tuple[str, str, int, int], ...] = ()  # name, sha256, bytes, mode
    outputs: tuple[str, ...] = ()  # patterns
    compat: str = ""  # "", "slurm" or "sge": also set their array variables
    tasks: int = 0  # size of the bag
    cluster: str = ""  # the machine's offering, for BATS_CLUSTER
    memory_bytes: int = 0  # that an attempt may use; 0: no limit
    pids: int = 0  # processes and threads that an attempt may have at a time; 0: no limit
    cpus: int = 1  # of the machine's slots that an attempt takes
    gpus: int = 0  # devices that an attempt has to itself


class Order(NamedTuple):
    """One attempt to run: the values fill the bag's templates."""

    task: TaskId
    attempt: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Run these, in this order, `slots` at a time."""

    bag: BagId
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Kill:
    """Stop these if they run, forget them if queued; each is answered by a KILLED result."""

    attempts: tuple[AttemptId, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """A request for a running attempt's output, `stream` "out" or "err", from `offset` on."""

    of: AttemptId
    stream: str
    offset: int


@dataclass(frozen=True, slots=True)
class ResultsStored:
    serial: int  # everything up to here is durable at the master


@dataclass(frozen=True, slots=True)
class Lease:
    lease_seconds: float  # from the stamp on, however late it comes
    stamp: float = 0.0  # 0: from now


@dataclass(frozen=True, slots=True)
class Stop:
    """Kill what runs, report, exit."""

    reason: str


# --- files, both ways -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WantBlob:
    """Send me this content from `offset` on."""

    sha256: str
    offset: int


@dataclass(frozen=True, slots=True)
class BlobChunk:
    sha256: str
    offset: int
    total: int
    data: bytes


@dataclass(frozen=True, slots=True)
class BlobStored:
    """The receiver holds `offset` bytes of it; all of it, checked, when that is the total."""

    sha256: str
    offset: int


# --- client and master ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """A client asks; `verb` names a handler, `body` holds plain data."""

    id: int
    verb: str
    body: dict[str, Any]
    release: str = ""
    protocol: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class Reply:
    id: int
    body: dict[str, Any]
    error: str = ""  # one sentence when it could not be done
    exit_code: int = 0  # what a command line should end with


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a long answer; `Reply` ends it."""

    id: int
    body: dict[str, Any]
