"""Events and commands of a pool: plain data, for its journal and its driver.

Times are seconds of the calendar. Machines are told of as bags are told of theirs: by `Charged`,
`Joined`, `Silent`, `Announced`, `Gone`, `SetAside`, `Allotted`, and by the commands of the engine.
"""

from collections.abc import Mapping
from typing import Any

from bats.common.capacity.pool_rules import Pool
from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.master.brain.protocol.commands import (
    Decided,
    RenewLease,
    StartMachines,
    StopMachine,
    WakeAt,
)
from bats.master.brain.protocol.events import (
    Allotted,
    Announced,
    Charged,
    Gone,
    Joined,
    SetAside,
    Silent,
)


@dataclass(frozen=True, slots=True)
class Formed:
    """The pool is so from now on: as its file says when a master starts."""

    pool: Pool
    last: MachineId  # the highest number of a machine that was ever given


@dataclass(frozen=True, slots=True)
class Looked:
    """The pool is looked at: every interval with what its scaler says, and as paid time ends."""

    demand: int  # places that tasks fill or could fill now
    busy: tuple[MachineId, ...]  # machines with tasks
    task_seconds: float = 0.0  # the told quantile of the runtimes known; 0: none is known
    want: tuple[int, ...] | None = None  # machines of each kind; None: as was said last
    trouble: str = ""  # why the scaler said nothing


@dataclass(frozen=True, slots=True)
class Summed:
    """The pool stands so; its journal may begin here."""

    pool: Pool
    books: Mapping[str, Any]  # plain, of `pool_books`


@dataclass(frozen=True, slots=True)
class TakesTasks:
    """A command: the machine gets new tasks from now on, or none."""

    machine: MachineId
    takes: bool


Event = (
    Formed | Looked | Summed | Charged | Joined | Silent | Announced | Gone | SetAside | Allotted
)
Command = StartMachines | StopMachine | RenewLease | TakesTasks | WakeAt | Decided
