"""A pool: machines that the master keeps for all bags, as many as its scaler says."""

from typing import Final

from bats.common.money import Money
from bats.common.offering import MANUAL, Offering
from bats.common.records import dataclass

SCALERS: Final = (
    "react",
    "none",
    "adapt",
    "hist",
    "reg",
    "conpaas",
    "plan",
    "token",
    "rehearse",
    "pfa",
)
"""Those that say how many machines there should be, the usual one first.

`plf` and `scf` say which task runs where, too: that is for the placement of the master.
"""

RELEASES: Final = ("paid", "idle")
"""Times to end an idle machine too many: as its paid time ends, or at once."""

PAYERS: Final = "pool "
"""The beginning of the names by which caps know pools; no user has one with a blank."""

QUANTILE: Final = 0.9
INTERVAL_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Pool:
    """A `[[pool]]` of a clouds file.

    `least` machines stay, of the first kind; there are at most `most` in all. A task begins only if
    money for the `quantile` of known runtimes is reserved. Limits are None where there is none.
    """

    name: str
    kinds: tuple[Offering, ...]
    most: int
    least: int = 0
    interval_seconds: float = INTERVAL_SECONDS
    scaler: str = SCALERS[0]
    release: str = RELEASES[0]
    quantile: float = QUANTILE
    per_interval: Money | None = None
    per_day: Money | None = None
    per_month: Money | None = None
    zone: str = ""  # whose midnight ends the day; "" is UTC's
    currency: str = "$"

    @property
    def payer(self) -> str:
        """The name by which caps know it."""
        return f"{PAYERS}{self.name}"

    @property
    def most_places(self) -> int:
        """The places for tasks that there can be: on the largest machines, as far as they go."""
        places, left = 0, self.most
        for kind in sorted(self.kinds, key=lambda kind: -kind.slots):
            machines = min(left, kind.max_machines)
            places += machines * kind.slots
            left -= machines
        return places


def as_common(kind: Offering) -> Offering:
    """An offering of a pool as bags see it: it costs them nothing, and they start none of it."""
    return Offering(
        name=kind.name,
        price=Money(0),
        atu_seconds=kind.atu_seconds,
        max_machines=kind.max_machines,
        slots=kind.slots,
        backend=MANUAL,
        memory_bytes=kind.memory_bytes,
        gpus=kind.gpus,
    )
