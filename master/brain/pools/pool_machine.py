"""A machine of a pool: as one of a bag's, and whether it has work and gets more."""

import math
from typing import Final

from bats.common.billing import atus, begun_before, charge_atus
from bats.common.capacity.pool_rules import Pool
from bats.common.messages import MachineId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.books.machine import Machine, MachineState

LATE_SECONDS: Final = 5.0
"""A busy computer may end a machine so long after it should: that is reserved as well."""


class PoolMachine(Machine):
    __slots__ = ("idle_since", "leased", "settled", "takes")

    def __init__(
        self, machine: MachineId, cluster: int, offering: Offering, requested_at: float
    ) -> None:
        super().__init__(machine, cluster, offering, requested_at)
        self.idle_since: float | None = None  # None: it has tasks, or is not there
        self.takes = True  # new tasks
        self.leased = 0  # ATUs within which it was told that it may live
        self.settled = 0  # ATUs, once it is gone

    @property
    def counts(self) -> bool:
        """It is there, or will be, or may be heard of again."""
        there = (MachineState.REQUESTED, MachineState.UP, MachineState.SILENT)
        return self.state in there and not self.draining

    @property
    def lost(self) -> bool:
        """Silent, and of a kind of which machines are lost: it may never be heard of again."""
        return self.state is MachineState.SILENT and not self.offering.reliable

    @property
    def supplies(self) -> bool:
        """True of supply: it is there, or will be. One that may be lost is made up for."""
        return self.counts and not self.lost

    @property
    def boots(self) -> bool:
        return self.state is MachineState.REQUESTED

    @property
    def late_atus(self) -> int:
        """The ATUs that it may enter beyond those in which it may live, if it ends late."""
        late = 0.0 if self.offering.free else LATE_SECONDS - self.offering.boundary_seconds
        return max(0, math.ceil(late / self.offering.atu_seconds))

    @property
    def held(self) -> int:
        """The ATUs that are reserved."""
        return self.atus + self.late_atus

    def due(self, now: float, rules: Pool) -> bool:
        """True if an idle one too many is ended now: a moment later the next ATU would begin.

        ATUs that are no longer than the interval would begin before it is looked at again. One that
        would not be gone before the next ATU, since it was busy till now, stays for that if it is
        reserved: it would be charged.
        """
        short = self.offering.atu_seconds <= rules.interval_seconds
        if rules.release == "idle" or self.offering.free or short or self.charged_since is None:
            return True
        billed = self.billed_until(now)
        too_late = (
            billed - now < self.offering.boundary_seconds / 2 and self.paid_until(now) > billed
        )
        return now >= self.idle_until(now) and not too_late

    def entered_until(self, at: float) -> int:
        """The ATUs that have begun by then, the minimum included."""
        if self.charged_since is None:
            return 0
        return atus(self.offering, max(0.0, at - self.charged_since))

    def atus_until(self, at: float) -> int:
        """The ATUs that are to be reserved for it to live until then."""
        if self.charged_since is None:
            return self.atus
        return atus(self.offering, at - self.charged_since)

    def since(self, at: float) -> Money:
        """The money for its ATUs that begin at that time or later, reserved ones included."""
        count = self.held if self.alive else self.settled
        begun = 0
        if self.charged_since is not None:
            begun = min(count, begun_before(self.offering.atu_seconds, self.charged_since, at))
        return charge_atus(self.offering, count - begun)
