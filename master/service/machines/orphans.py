"""Machines that live and are in no bag's books: whose they were, what they may cost, what to do.

They turn up when a provider, a host or a file server had lost sight of a machine for a while, or
when an earlier master's books are gone. Their leases end them in any case.
"""

import enum
from collections.abc import Mapping
from typing import Final

from bats.common.billing import atus, charge, paid_uptime
from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.deploy.protocol import Orphan
from bats.master.brain.protocol.numbering import bag_of, of_pool
from bats.master.service.owner import Owner
from bats.master.store.rows import MachineRow

NOBODY: Final = "no master's books tell of it"


class Handling(enum.Enum):
    """The treatment of such machines."""

    LOOK = "look"
    STOP = "stop"
    STOP_LOST = "stop what no bag can take back"
    TAKE_BACK = "take back"

    def stops(self, orphan: "OrphanMachine") -> bool:
        return self is Handling.STOP or (self is Handling.STOP_LOST and bool(orphan.lost))


@dataclass(frozen=True, slots=True)
class OrphanMachine:
    offering: str
    backend: str
    number: MachineId | None  # as the back end knows it; None: it cannot be told
    bag: BagId | None
    address: str
    charged_seconds: float | None
    cost: Money  # by now, its running ATU in full; of one that is not charged yet, its first
    lost: str  # why no bag can take it back; "" if its bag can
    done: str = ""  # "stopped" or "taken back"


def orphan_machine(
    offering: Offering, orphan: Orphan, owners: Mapping[BagId, Owner]
) -> OrphanMachine:
    number = orphan.machine
    return OrphanMachine(
        offering=orphan.offering,
        backend=offering.backend,
        number=number,
        bag=bag_of(number) if number is not None else None,
        address=orphan.address,
        charged_seconds=orphan.charged_seconds,
        cost=charge(offering, orphan.charged_seconds or 0.0),
        lost=_why_lost(number, owners),
    )


def _why_lost(number: MachineId | None, owners: Mapping[BagId, Owner]) -> str:
    """The reason why no bag takes it back; "" if its own does, by the key in its row."""
    if number is None:
        return NOBODY
    if of_pool(number):
        return "its pool has given it up"
    owner = owners.get(bag_of(number))
    if owner is None or not owner.busy:
        return f"bag {bag_of(number)} does not run"
    row = owner.machines.rows.get(number)
    if row is None or owner.known(number) is None:
        return NOBODY
    return "" if row.public_key else "its key is not known"


def unpaid_since(offering: Offering, row: MachineRow, charged_seconds: float, now: float) -> float:
    """The time from which its bill is in no books; times are the bag's, `charged_seconds` of now.

    What the books had when they closed was paid in whole ATUs; never later than now.
    """
    began = now - charged_seconds if row.charged_since is None else row.charged_since
    if row.charged_since is None or row.gone is None:
        return min(began, now)
    paid = paid_uptime(offering, atus(offering, row.gone - row.charged_since))
    return min(began + paid, now)
