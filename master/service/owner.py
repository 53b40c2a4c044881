"""The owner of machines, a bag or a pool, as those see it who start, watch and stop them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from bats.common.capacity.resources import Resources
from bats.common.messages import AttemptId, BagId, MachineId
from bats.common.offering import Offering
from bats.master.brain.protocol.events import Cause
from bats.master.brain.views.told.facts import MachineFacts
from bats.master.store.rows import MachineRow

if TYPE_CHECKING:
    from bats.master.service.bags.runner import Runner


def ticket_size(offering: Offering, task_slots: int) -> Resources:
    """The size of a machine as its ticket says it, and as its worker then tells it."""
    return Resources(offering.slots * task_slots, offering.memory_bytes, offering.gpus)


class OwnMachines(Protocol):
    """The rows of its machines, and what happens to them."""

    @property
    def rows(self) -> Mapping[MachineId, MachineRow]: ...

    def wants(self, machine: MachineId) -> bool:
        """True if the machine is in its books, and not to stop."""
        ...

    def held(self, machine: MachineId) -> frozenset[AttemptId] | None:
        """The attempts that it should hold; None when it is not known to work."""
        ...

    def has_others_than(self, cluster: int) -> bool:
        """True if it can do without what this offering cannot give for long."""
        ...

    def knows_key(self, machine: MachineId, public: str) -> None: ...

    def keeps_key(self, machine: MachineId, public: str) -> None: ...

    def charged(self, machine: MachineId, since: float, address: str) -> None: ...

    def announced(self, machine: MachineId, reason: str) -> None: ...

    def found(self, machine: MachineId, unpaid_since: float | None) -> bool: ...

    def gone(self, machine: MachineId, at: float | None, cause: Cause, detail: str) -> None: ...

    def lease_seconds(self, machine: MachineId) -> float: ...


class Owner(Protocol):
    @property
    def id(self) -> BagId: ...

    @property
    def clock(self) -> Callable[[], float]: ...

    @property
    def machines(self) -> OwnMachines: ...

    @property
    def offerings(self) -> Sequence[Offering]: ...

    @property
    def task_slots(self) -> int:
        """CPUs for each of what its offerings call a slot."""
        ...

    @property
    def busy(self) -> bool:
        """True if it has a use for machines."""
        ...

    def known(self, machine: MachineId) -> MachineFacts | None:
        """The machine as the books have it."""
        ...

    def living(self) -> Iterable[MachineFacts]:
        """Its own machines that are not gone."""
        ...

    def waiting_for(self, machine: MachineId) -> "Sequence[Runner]":
        """The bags that it was given tasks of, of which they have not heard."""
        ...

    def set_aside(self, cluster: int, reason: str) -> None:
        """Nothing more can be had of this offering."""
        ...
