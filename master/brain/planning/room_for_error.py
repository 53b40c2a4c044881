"""Money, machines and work: the room for error that is left, and the time that it costs.

A mix that is bought for its exact price leaves nothing for tasks that take longer than the sample
says, nor for machines that the last tasks keep beyond their paid time. A run keeps room for both:
it ends later than the mix would, or sooner with other machines. How much of the room turns out to
be needed is not known before.
"""

from dataclasses import replace
from typing import Final

from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.planning.mix import Mix
from bats.master.brain.planning.timetable import UNCOUNTED, Errand, Group, Timetable, soonest

SUREST: Final = 3.0
"""The most room, in standard deviations, that is asked for."""

SHARES: Final = (1.0, 0.5, 0.25, 0.0)
"""Shares of the wanted room that are tried, the largest first."""

EXACTLY: Final = 1 / 8
"""Room is known to so much of a standard deviation: an eighth is a few percent of chance."""


@dataclass(frozen=True, slots=True)
class Means:
    """The machines that are there and those to be had, what is to be done, and the money for it.

    Room is counted in standard deviations, z.
    """

    groups: tuple[Group, ...]
    errand: Errand  # without room
    noise: float  # the relative error (one σ) of its tasks' mean runtime
    money: Money
    room: float  # the most that a run keeps

    def table(self, z: float) -> Timetable | None:
        return soonest(self.groups, self.errand.with_room(self.noise, z), self.money)

    def kept(self) -> tuple[float, Timetable] | None:
        """The room that a run keeps, of what the money pays for, and its timetable.

        To keep all that it pays for would be in vain: such runs end later, and no more finish.
        """
        for share in SHARES:
            z = share * self.room
            found = self.table(z)
            if found is not None:
                return z, found
        return None

    def spare(self) -> float:
        """z, the most room that the money pays for; less than 0 where it takes luck."""
        low, high = -SUREST, SUREST
        if self.table(high) is not None:
            return high
        if self.table(low) is None:
            return low
        while high - low > EXACTLY:
            middle = (low + high) / 2
            low, high = (low, middle) if self.table(middle) is None else (middle, high)
        return low

    def delay(self, mix: Mix, z: float) -> float:
        """The factor by which a run takes longer than the mix would with money to spare.

        1 where the money does not pay for the room: then nothing is known of the end.
        """
        kept = self.table(z)
        wanted = replace(self, groups=_of_mix(self.groups, mix), money=UNCOUNTED).table(z)
        if kept is None or wanted is None:
            return 1.0
        last = self.errand.residual.mean  # for what is begun at the very end
        return (kept.end + last) / (wanted.end + last)


def _of_mix(groups: tuple[Group, ...], mix: Mix) -> tuple[Group, ...]:
    """Groups with the mix's machines of each cluster; those that are there before others."""
    left = list(mix)
    found = []
    for group in sorted(groups, key=lambda g: g.fresh):
        count = min(group.count, left[group.cluster])
        left[group.cluster] -= count
        found.append(replace(group, count=count))
    return tuple(found)
