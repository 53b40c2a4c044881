"""A bag's share of what bags have in common, over time, by what its journal says."""

from typing import Final

from bats.common.units import counted
from bats.master.brain.books.choice import Share
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.events import (
    Begin,
    Borrowed,
    Event,
    Gone,
    Granted,
    Joined,
    Limited,
    Silent,
    TakenBack,
)

_CHANGE_IT: Final = (Begin, Joined, Granted, Gone, Silent, Limited, Borrowed, TakenBack)


class CommonShares:
    """Slots of machines that serve all, and how many of each offering other bags left it."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, int]] = []  # slots from then on
        self.told: Share | None = None
        self.least: tuple[int, ...] = ()
        self._seconds = self._slot_seconds = 0.0

    def see(self, engine: Engine, event: Event, now: float) -> None:
        """Take in what the bag has after an event of its journal."""
        if not isinstance(event, _CHANGE_IT):
            return
        slots = engine.share.places
        if not self.steps or slots != self.steps[-1][1]:
            self.steps.append((now, slots))
        limits = tuple(engine.limit(k) for k in range(len(engine.settings.offerings)))
        self.least = tuple(map(min, self.least, limits)) if self.least else limits

    def end(self, engine: Engine, at: float) -> None:
        """Nothing comes after that time."""
        self.told = engine.share_told
        self.steps = [(began, slots) for began, slots in self.steps if began < at]
        ends = [began for began, _ in self.steps[1:]] + [at]
        for (began, slots), until in zip(self.steps, ends, strict=False):
            self._seconds += until - began
            self._slot_seconds += slots * (until - began)

    @property
    def most(self) -> int:
        return max((slots for _, slots in self.steps), default=0)

    @property
    def mean(self) -> float:
        return self._slot_seconds / self._seconds if self._seconds else 0.0

    def words(self, engine: Engine) -> list[str]:
        """Sentences; none of a bag that had nothing in common with others."""
        said = []
        if self.most:
            told = f"; told with {counted(self.told.places, 'slot')}" if self.told else ""
            said.append(
                f"Of machines that serve all bags it had {self.mean:.1f} slots on average, "
                f"{self.most} at most{told}."
            )
        for offering, least in zip(engine.settings.offerings, self.least, strict=False):
            if least < offering.max_machines:
                left = f"{least} at times" if least else "none at times"
                said.append(
                    f"Of {offering.max_machines:,} {offering.name} other bags left it {left}."
                )
        return said
