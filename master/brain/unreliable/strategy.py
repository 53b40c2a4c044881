"""Strategies: when how many instances of a task are sent where (§3), and the static ones (§5.3).

In the tail, NTDM_r: a task gets N instances at most from the unreliable pool, each no sooner than T
after the one before was sent, given up D after it was sent; then a last one from ⌈M_r·#ur⌉ reliable
machines.
"""

from enum import Enum
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.unreliable.pools import World


class Opening(Enum):
    """Machines that the throughput phase uses."""

    UNRELIABLE = "unreliable"
    BOTH = "both"
    RELIABLE = "reliable"

    @property
    def uses_reliable(self) -> bool:
        return self is not Opening.UNRELIABLE


@dataclass(frozen=True, slots=True)
class Strategy:
    N: int | None  # None: any number, and no reliable instance ever
    T: float  # seconds
    D: float  # seconds
    M_r: float
    opening: Opening = Opening.UNRELIABLE
    tail: bool = True  # False: nothing changes when few tasks are left
    both_at_once: bool = False  # the reliable instance does not wait for the others
    affordable: float | None = None
    """The tail begins when this much pays for reliable instances of all tasks left."""

    def __post_init__(self) -> None:
        if self.N is not None and self.N < 0:
            raise ValueError(f"N is 0 or more, not {self.N}")
        if not (self.T >= 0 and self.D > 0 and self.M_r >= 0):
            raise ValueError(f"T and M_r are 0 or more, D is more: {self.T}, {self.M_r}, {self.D}")

    def __str__(self) -> str:
        N = "∞" if self.N is None else self.N
        return f"N={N} T={self.T:.0f} s D={self.D:.0f} s M_r={self.M_r:.2f}"


AR: Final = "AR"
TRR: Final = "TRR"
TR: Final = "TR"
AUR: Final = "AUR"
BUDGET: Final = "B"
CN_INF: Final = "CN∞"
CN1T0: Final = "CN1T0"

STATIC: Final = (AR, TRR, TR, AUR, BUDGET, CN_INF, CN1T0)
"""Strategies that are fixed before the bag begins, as their users called them."""


def static(name: str, world: World, M_r: float, budget: float) -> Strategy:
    """One of `STATIC`, with all the reliable machines there are; only B looks at the budget."""
    D = world.throughput_deadline
    match name:
        case "AR":
            return Strategy(None, D, D, M_r, Opening.RELIABLE, tail=False)
        case "TRR":
            return Strategy(0, 0.0, D, M_r)
        case "TR":
            return Strategy(0, D, D, M_r)
        case "AUR":
            return Strategy(None, D, D, 0.0)
        case "B":
            return Strategy(0, 0.0, D, M_r, affordable=budget)
        case "CN∞":
            return Strategy(None, D, D, M_r, Opening.BOTH, tail=False)
        case "CN1T0":
            return Strategy(1, 0.0, D, M_r, Opening.BOTH, both_at_once=True)
    raise ValueError(f"no static strategy is called {name}: there are {', '.join(STATIC)}")
