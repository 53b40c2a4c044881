"""The things that a runner works with; all bags of a master have the same."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from bats.common.messages import BagId, MachineId
from bats.common.records import dataclass
from bats.master.brain.protocol.commands import Command
from bats.master.brain.protocol.events import Event
from bats.master.service.bags.collection import NO_CAPS, Caps
from bats.master.service.machines.workers import Workers
from bats.master.service.telling.messenger import Messenger
from bats.master.service.transfers import Files
from bats.master.store.store import Store

if TYPE_CHECKING:
    from bats.master.service.bags.runner import Runner


class Fleet(Protocol):
    """The fleet that starts and stops machines for bags."""

    def start(self, owner: "Runner", cluster: int, machines: Sequence[MachineId]) -> None: ...

    def stop(self, machine: MachineId, reason: str) -> None: ...


@dataclass(slots=True)
class Surroundings:
    store: Store
    workers: Workers
    fleet: Fleet
    files: Files
    ended: Callable[["Runner"], None]
    parked: Callable[["Runner"], None]  # it is paused, and its last machine is gone
    broke: Callable[["Runner", BaseException], None]
    freed: Callable[["Runner", MachineId], None]  # a worker started by hand has left the bag
    looked: Callable[["Runner"], None]  # something has happened to it, other bags may care
    waiting_for: Callable[[MachineId], list["Runner"]]  # bags that have not heard all of a machine
    messenger: Messenger
    notify: str = ""  # the master's own command for notices of all bags
    caps: Caps = NO_CAPS
    witness: Callable[[BagId, float, Event, list[Command]], None] | None = None  # sees every step
