"""The ledger: the one place that says what may still be spent. Reserve, then settle.

A machine's next ATU is reserved before it is entered. What is settled and reserved together
never exceeds the limit (the budget plus a granted cushion), nor what other bags leave of a cap
above the budget: `reserve` refuses what is not covered.
"""

from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId
from bats.common.money import NOTHING, Money


class Ledger:
    """`limit` None stands for a user who counts no money, `allowance` None for no cap."""

    __slots__ = ("_reserved", "_total", "allowance", "limit", "settled")

    def __init__(self, limit: Money | None) -> None:
        self.limit = limit
        self.allowance: Money | None = None
        self.settled: Money = NOTHING
        self._reserved: dict[MachineId, Money] = {}
        self._total: Money = NOTHING

    @property
    def reserved(self) -> Money:
        """The cost of living machines until the end of their reserved ATUs."""
        return self._total

    @property
    def committed(self) -> Money:
        return Money(self.settled + self._total)

    @property
    def left(self) -> Money | None:
        """The money that may still be reserved; None when nobody counts."""
        return self.left_of(self.allowance if self.capped else self.limit)

    @property
    def capped(self) -> bool:
        """True if a cap leaves it less than its own limit."""
        return self.allowance is not None and (self.limit is None or self.allowance < self.limit)

    def left_of(self, budget: Money | None) -> Money | None:
        """The rest of a budget for the whole run, if there is one, that is not committed yet."""
        return None if budget is None else Money(max(0, budget - self.committed))

    def covers(self, amount: Money) -> bool:
        left = self.left
        return left is None or amount <= left

    def reserve(self, machine: MachineId, total: Money) -> bool:
        """Hold `total` for this machine's whole life so far; False when it is not covered."""
        more = Money(total - self._reserved.get(machine, NOTHING))
        if not self.covers(more):
            return False
        self.owe(machine, total)
        return True

    def owe(self, machine: MachineId, total: Money) -> None:
        """Hold what was spent on this machine before anybody asked, covered or not."""
        self._total = Money(self._total + total - self._reserved.get(machine, NOTHING))
        self._reserved[machine] = total

    def settle(self, machine: MachineId, cost: Money) -> None:
        """The machine is gone and has cost this much, whatever had been reserved."""
        self._total = Money(self._total - self._reserved.pop(machine, NOTHING))
        self.settled = Money(self.settled + cost)

    def reserved_for(self, machine: MachineId) -> Money:
        return self._reserved.get(machine, NOTHING)

    def check(self) -> None:
        if self._total != sum(self._reserved.values()):
            raise BrokenInvariantError("the ledger's total is not the sum of its reservations")
        if self.limit is not None and self.committed > self.limit:
            raise BrokenInvariantError(
                f"{self.settled} settled and {self._total} reserved exceed the limit {self.limit}"
            )
