"""The protocol of back ends: all that lies between a master's machines and the world.

A back end starts and stops machines; it never decides. Nothing here knows of budgets or bags.
"""

import enum
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol, runtime_checkable

from bats.common.errors import BatsError
from bats.common.messages import MachineId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.ticket import Ticket

__all__ = [
    "Backend",
    "BackendError",
    "BusyError",
    "Factory",
    "Feature",
    "Gone",
    "Orphan",
    "Price",
    "Priced",
    "RefusedError",
    "Remembering",
    "Scripted",
    "Sighting",
    "Site",
    "State",
    "Ticket",
]


class Feature(enum.Enum):
    """A feature that some back ends lack; `lacks()` says why, in words a user reads."""

    BILLING_START = "says since when a machine is charged"
    ORPHANS = "finds machines of a master that died"
    PREEMPTION = "tells a machine taken away from one that broke"
    POWER_OFF = "ends the bill itself when a lease runs out"
    QUEUE = "makes a machine wait, uncharged, until there is room for it"


class State(enum.Enum):
    REQUESTED = "requested"  # asked for; the provider has not answered
    QUEUED = "queued"  # the provider knows it and makes it wait; not charged
    STARTING = "starting"  # being charged, the worker has not joined yet
    UP = "up"
    STOPPING = "stopping"  # as asked; or, with a detail, announced by the provider: soon taken away
    GONE = "gone"


class Gone(enum.Enum):
    """The reason why a machine is gone; each has another consequence."""

    STOPPED = "stopped"  # as asked
    EXPIRED = "expired"  # its lease or time limit ran out: expected, no fault
    PREEMPTED = "pre-empted"  # taken away by the provider: normal, try again
    FAILED = "failed"  # did not start, or broke: counts against the offering
    LOST = "lost"  # the provider does not know it any more


@dataclass(frozen=True, slots=True)
class Sighting:
    """A provider's word on one machine, in durations (clocks differ)."""

    state: State
    address: str = ""  # job id, host, instance id: what a person would look for
    charged_seconds: float | None = None  # for how long it has been charged; None: not (yet)
    gone: Gone | None = None
    detail: str = ""  # the reason in the provider's words; with the log's last lines if it failed


@dataclass(frozen=True, slots=True)
class Orphan:
    """A machine that an earlier life of this master started and that still lives."""

    machine: MachineId | None  # None: it cannot be told which
    offering: str
    address: str
    charged_seconds: float | None


class Backend(Protocol):
    """One per offering that uses it. Methods may be called concurrently; none blocks the loop."""

    def lacks(self) -> Mapping[Feature, str]: ...

    async def check(self) -> str:
        """Say in one sentence that this offering can work.

        Raises RefusedError with one sentence when it cannot.
        """
        ...

    async def start(self, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        """Ask for one machine per ticket. Those that could not be asked for are GONE, with why.

        Raises BusyError when nothing was started and it may work later, RefusedError when it
        will never work. Starting a machine again that was already asked for starts no second one.
        """
        ...

    async def status(self, machines: Sequence[MachineId]) -> Mapping[MachineId, Sighting]:
        """One call for many: providers charge per query. Unknown machines are GONE (LOST)."""
        ...

    async def stop(self, machines: Sequence[MachineId]) -> None:
        """Stop and stop being charged; twice, or for unknown ones, is no error."""
        ...

    async def list_ours(self) -> Sequence[Orphan]:
        """Everything this master ever started here that still lives, found by tag or job name.

        What it tells of, `status` does not hold to be gone any more.
        """
        ...

    async def log(self, machine: MachineId) -> str:
        """The last lines the machine's worker wrote, as far as they can be had; "" if not."""
        ...

    async def close(self) -> None:
        """Let go of connections; machines live on."""
        ...


@dataclass(frozen=True, slots=True)
class Price:
    """A provider's price for a machine, in US dollars."""

    per_hour: Money
    day: date  # on which it was looked up
    source: str


@runtime_checkable
class Priced(Protocol):
    """A back end that can also tell what its offering costs now."""

    async def price(self) -> Price:
        """Raises BusyError or RefusedError."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """A back end that can read in the folder of a worker that has ended."""

    async def left(self, machine: MachineId, name: str, offset: int, size: int) -> bytes:
        """A piece of a file there, named from its state folder on; b"" if there is no more of it.

        Raises BusyError.
        """
        ...


@runtime_checkable
class Scripted(Protocol):
    """A back end that hands in scripts: it can show one beforehand."""

    def script(self, count: int = 1) -> str:
        """The script for so many machines."""
        ...


class BackendError(BatsError):
    """The provider did not do what was asked; the message is one sentence for the user."""


class BusyError(BackendError):
    """May work later (no capacity, rate limit, network): the fleet loop backs off, then retries."""


class RefusedError(BackendError):
    """Will fail the same way again (credentials, unknown partition): the offering is set aside."""


@dataclass(frozen=True, slots=True)
class Site:
    """The things that all back ends of one master share."""

    master_id: str  # random, kept in the state folder: marks what is ours at every provider
    state_folder: str  # on this machine; a back end may keep a folder of its own name in it
    worker_command: tuple[str, ...]  # how to start a worker here: (python, "-m", "bats.worker")


class Factory(Protocol):
    """Found by name: `bats.deploy.registry.BACKENDS`, or the entry point group `bats.backends`."""

    def __call__(self, offering: Offering, site: Site) -> Backend: ...
