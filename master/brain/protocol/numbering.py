"""Machine numbers: given once, and the same in journals, in the store, on the wire, at back ends.

They are given in blocks, so that nobody has to ask or to remember: a bag has one of its own, and
machines started by hand, which belong to no bag, have the first. Pools are numbered as bags are,
from where no bag comes: their journals and machines lie beside those of bags.
"""

from typing import Final

from bats.common.messages import BagId, MachineId
from bats.common.offering import BLOCK, OLD

BEFORE_BY_HAND: Final = MachineId(OLD)
"""The first machine started by hand has the next number."""


def before_first(bag: BagId) -> MachineId:
    """The bag's first machine has the next number."""
    return MachineId(bag * BLOCK)


def bag_of(machine: MachineId) -> BagId:
    """0 for a machine started by hand."""
    return BagId(machine // BLOCK)


def block_of(bag: BagId) -> range:
    """The numbers that its machines may have."""
    return range(bag * BLOCK, (bag + 1) * BLOCK)


def by_hand(machine: MachineId) -> bool:
    return machine < BLOCK


FIRST_POOL: Final = BagId(8_000_000)
"""The number of the first pool; the store has room for some more bags and pools than that."""


def is_pool(number: BagId) -> bool:
    return number >= FIRST_POOL


def of_pool(machine: MachineId) -> bool:
    return is_pool(bag_of(machine))


def serves_all(machine: MachineId) -> bool:
    """True of machines that belong to no bag: of pools, and those started by hand."""
    return by_hand(machine) or of_pool(machine)


# Version 0.1.0 counted from 1 twice: each bag its machines, and the master those started by hand.


def from_journal(machine: MachineId, bag: BagId) -> MachineId:
    """The number in a journal as it is today: there, low ones were the bag's own machines."""
    return machine if machine > OLD else MachineId(before_first(bag) + machine)


def from_table(machine: MachineId) -> MachineId:
    """Likewise of the store's tables, and of workers: there, they were those started by hand."""
    return machine if machine > OLD else MachineId(BEFORE_BY_HAND + machine)


def in_old_tables(machine: MachineId) -> MachineId:
    """The number of this machine in an old table."""
    return MachineId(machine - BEFORE_BY_HAND) if by_hand(machine) else machine
