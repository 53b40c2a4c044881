"""An offering: one kind of machine that can be had at a price (a cluster, in the paper)."""

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, NewType

from bats.common.capacity.resources import Resources
from bats.common.money import NOTHING, Money
from bats.common.records import dataclass

ClusterName = NewType("ClusterName", str)

MANUAL: Final = "manual"
"""The back end of machines that users start themselves: never asked for, taken when they come."""


@dataclass(frozen=True, slots=True)
class Offering:
    """A kind of machine: its price, its size and how many there are.

        print([one.name for one in clouds("bats-clouds.toml").offerings])

    `price` is for one machine and one ATU (accountable time unit), paid when the ATU is entered.
    `minimum_seconds` is charged even to a machine that stops earlier.
    `boundary_seconds` is how long before its paid time ends a machine must be told to stop so
    that it is surely gone in time; of short ATUs that may be several. `lease_seconds` is how long
    it may live without hearing from its master at least, whatever the ATU: so much is reserved.
    `priced` says when and where the price was looked up, if it was. One that is not `reliable` may
    lose machines with what they run, such as spot machines and pre-emptible partitions.
    `slots` are its CPUs; of a bag's own offerings the number of its tasks that a machine runs at a
    time. `memory_bytes` is 0 where nobody has told it.
    """

    name: ClusterName
    price: Money
    atu_seconds: float
    max_machines: int
    slots: int = 1
    minimum_seconds: float = 0.0
    boundary_seconds: float = 0.0
    lease_seconds: float = 0.0
    backend: str = "local"
    settings: Mapping[str, Any] = field(default_factory=dict)
    priced: str = ""
    reliable: bool = True
    memory_bytes: int = 0
    gpus: int = 0

    def __post_init__(self) -> None:
        if self.price < NOTHING:
            raise ValueError(f"offering {self.name}: price must not be negative")
        if not (math.isfinite(self.atu_seconds) and self.atu_seconds > 0):
            raise ValueError(f"offering {self.name}: the ATU must last longer than 0 s")
        if self.max_machines < 0 or self.slots < 1:
            raise ValueError(f"offering {self.name}: needs max >= 0 and slots >= 1")
        if self.memory_bytes < 0 or self.gpus < 0:
            raise ValueError(f"offering {self.name}: memory and GPUs must not be negative")
        if not (math.isfinite(self.boundary_seconds) and self.boundary_seconds >= 0):
            raise ValueError(f"offering {self.name}: boundary must not be negative")

    @property
    def machine(self) -> Resources:
        """The size of one of its machines."""
        return Resources(self.slots, self.memory_bytes, self.gpus)

    @property
    def free(self) -> bool:
        return self.price == NOTHING


BLOCK: Final = 1_000_000
"""The numbers that machines of one bag, or those of no bag, may have: 1000004 is of bag 1."""
OLD: Final = 500_000
"""No number of today is lower in the first block: version 0.1.0 counted from 1."""


def within_block(machine: int) -> int:
    """Counts from 1; with its offering's name it is what people call a machine of one bag."""
    return machine % BLOCK % OLD


def machine_name(offering: str, machine: int) -> str:
    """As people say it: `large 4`."""
    return f"{offering} {within_block(machine)}"
