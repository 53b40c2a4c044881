"""Machines that bags pay for, or start themselves, and of which there are only so many for all.

Each bag may have all that the others neither have nor may want next: M - sum over others of
max(machines, min(share, max(machines + 1, keeps))). So whoever comes later gets one at once, and
the rest of its share as it asks and as others leave; what nobody asks for is there for whoever
wants it, but for what a bag needs to end as it was told. As every bag is told before another acts,
there are never more than M.
"""

from collections.abc import Mapping

from bats.common.errors import BrokenInvariantError
from bats.common.messages import BagId
from bats.common.records import dataclass
from bats.master.brain.household.notices import Limit, Uses
from bats.master.brain.household.sharing import Shares


@dataclass(slots=True)
class Part:
    """One bag's machines of an offering."""

    machines: int
    wanted: int
    limit: int
    keeps: int = 0  # it was told to have so many


class ScarceMachines:
    """All machines of one offering."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.most = 0
        self.parts: dict[BagId, Part] = {}

    def use(self, notice: Uses) -> None:
        self.most = max(self.most, notice.most)
        part = self.parts.get(notice.bag)
        if part is None:
            part = self.parts[notice.bag] = Part(0, 0, notice.limit)
            self.parts = dict(sorted(self.parts.items()))
        part.machines, part.wanted = notice.machines, notice.wanted

    def keep(self, bag: BagId, machines: int) -> None:
        if part := self.parts.get(bag):
            part.keeps = machines

    def forget(self, bag: BagId) -> None:
        self.parts.pop(bag, None)

    def limits(self, shares: Shares) -> list[Limit]:
        """Lowered ones first, so that nobody starts what another may still start."""
        taken = {
            bag: max(part.machines, min(shares[bag], max(part.machines + 1, part.keeps)))
            for bag, part in self.parts.items()
        }
        everybody = sum(taken.values())
        rises: list[tuple[int, Limit]] = []
        for bag, part in self.parts.items():
            limit = max(0, self.most - everybody + taken[bag])
            if limit != part.limit:
                rises.append((limit - part.limit, Limit(bag, self.place, limit)))
                part.limit = limit
        return [one for _, one in sorted(rises, key=lambda rise: rise[0])]

    def check(self, members: Mapping[BagId, object]) -> None:
        if not self.parts.keys() <= members.keys():
            raise BrokenInvariantError(f"{self.place} is kept for a bag that does not run")
        there = sum(part.machines for part in self.parts.values())
        if there > self.most:
            raise BrokenInvariantError(f"{there} machines of {self.place}, {self.most} can be had")
