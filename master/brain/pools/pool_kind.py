"""One kind of machine of a pool: how long it boots, and whether it can be had."""

import math
from typing import Final

from bats.common.billing import atus_to_work, first_atus
from bats.common.offering import Offering

_FIRST_REST: Final = 10  # intervals for which a kind rests, each time twice as many
_LONGEST_REST_SECONDS: Final = 3600.0


class Kind:
    """One kind of machine, as far as it is known."""

    __slots__ = ("boots", "fruitless", "offering", "reason", "rest", "rests_until")

    def __init__(self, offering: Offering) -> None:
        self.offering = offering
        self.boots: list[float] = []  # seconds that machines took to join, the last ones
        self.fruitless = 0
        self.rest = 0.0
        self.rests_until = -math.inf
        self.reason = ""

    @property
    def boot_seconds(self) -> float:
        return sum(self.boots) / len(self.boots) if self.boots else 0.0

    def pause(self, now: float, interval_seconds: float, reason: str) -> None:
        """None is asked for, for a while that is longer each time, until one joins."""
        self.rest = min(_LONGEST_REST_SECONDS, 2 * self.rest or _FIRST_REST * interval_seconds)
        self.rests_until, self.reason, self.fruitless = now + self.rest, reason, 0

    def in_words(self) -> str:
        return f"no {self.offering.name} for {self.rest:g} s: {self.reason}"

    def first_atus(self, works_seconds: float) -> int:
        """The ATUs to begin with, in which it boots and works so long, and may live its lease."""
        works = atus_to_work(self.offering, self.boot_seconds + works_seconds)
        return max(first_atus(self.offering), works)
