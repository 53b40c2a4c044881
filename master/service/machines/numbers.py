"""Numbers of machines: each bag's engine counts its own from 1, the world sees one row.

Nothing has to be remembered for this: number and bag follow from each other, before and after a
restart. Machines started by hand belong to no bag, and keep their number from one to the next.
"""

from typing import Final

from bats.common.messages import BagId, MachineId

_PER_BAG: Final = 1_000_000
_BY_HAND: Final = 500_000  # in an engine, machines started by hand are counted from here


def outside(bag: BagId, machine: MachineId) -> MachineId:
    """The number on the wire, at back ends and in the store, of an engine's machine."""
    if machine > _BY_HAND:
        return MachineId(machine - _BY_HAND)
    return MachineId(bag * _PER_BAG + machine)


def inside(machine: MachineId) -> MachineId:
    """The number by which an engine knows this machine."""
    if by_hand(machine):
        return MachineId(machine + _BY_HAND)
    return MachineId(machine % _PER_BAG)


def by_hand(machine: MachineId) -> bool:
    """True if this number, as seen outside, is of a machine started by hand."""
    return machine < _BY_HAND


def bag_of(machine: MachineId) -> BagId:
    """0 for a machine started by hand."""
    return BagId(machine // _PER_BAG)
