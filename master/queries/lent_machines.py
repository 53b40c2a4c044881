"""Loans: machines that one bag pays for and on which tasks of others have ended, from the store."""

from collections.abc import Iterator
from typing import NamedTuple

from bats.common.messages import BagId, MachineId
from bats.master.brain.protocol.numbering import FIRST_POOL, bag_of, before_first, block_of
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow


class Loan(NamedTuple):
    """A machine that one bag pays for and on which tasks of another have ended, at no charge."""

    machine: MachineId
    offering: str
    paid_by: BagId
    used_by: BagId
    tasks: int
    seconds: float  # of those tasks


def loans_of(reader: Reader, number: BagId) -> tuple[list[Loan], list[Loan]]:
    """The machines that the bag has borrowed, and those that it has lent."""
    rows = reader.bags()
    own = next(row for row in rows if row.id == number)
    lent = [
        line
        for row in rows
        if row.id != number and _beside(own, row)
        for line in _ended(reader, row.id, block_of(number))
    ]
    of_bags = range(before_first(BagId(1)), before_first(FIRST_POOL))
    return [one for one in _ended(reader, number, of_bags) if one.paid_by != number], lent


def _ended(reader: Reader, bag: BagId, machines: range) -> Iterator[Loan]:
    for machine, offering, tasks, seconds in reader.ended_on(bag, machines):
        yield Loan(machine, offering, bag_of(machine), bag, tasks, seconds)


def _beside(one: BagRow, other: BagRow) -> bool:
    """True if one may have run while the other did; to look at all would take long."""
    return (one.ended is None or other.created <= one.ended) and (
        other.ended is None or one.created <= other.ended
    )
