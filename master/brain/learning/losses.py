"""Losses of an unreliable offering, as bags of one command have seen them, with their age."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.learning.experience import HALF_LIFE_SECONDS

MOST: Final = 200.0
"""Instances that earlier bags count as, at most; hours of work are held to as many tasks."""
MOST_HAZARD: Final = 20.0  # of a task; one in 500 million is done then at the first try
CONTRADICTED: Final = 3.0  # standard errors between what was and what is


@dataclass(frozen=True, slots=True)
class Losses:
    """Counts of instances; a loss that is told is counted by the hour, and not among those."""

    sent: float = 0.0
    returned: float = 0.0
    told: float = 0.0
    busy_seconds: float = 0.0
    known: float = 1.0  # γ in three epochs as the last bag ended: fully known,
    lately: float = 1.0  # partially,
    ahead: float = 1.0  # and not at all
    size: float = 0.0  # slots that were there while tasks waited, on average; 0: none waited

    def aged(self, seconds: float) -> "Losses":
        """The counts as they tell of machines so much later."""
        share = math.exp2(-max(0.0, seconds) / HALF_LIFE_SECONDS)
        share *= min(1.0, MOST / self.sent) if self.sent else 1.0
        return replace(
            self,
            sent=share * self.sent,
            returned=share * self.returned,
            told=share * self.told,
            busy_seconds=share * self.busy_seconds,
        )

    def with_more(self, newer: "Losses") -> "Losses":
        """Both counts; of all else the newer."""
        return replace(
            newer,
            sent=self.sent + newer.sent,
            returned=self.returned + newer.returned,
            told=self.told + newer.told,
            busy_seconds=self.busy_seconds + newer.busy_seconds,
            size=newer.size or self.size,
        )

    @property
    def hazard_per_hour(self) -> float:
        return 3600 * self.told / self.busy_seconds if self.busy_seconds else 0.0

    @property
    def reliability(self) -> float:
        return self.returned / self.sent if self.sent else 1.0


def seconds_a_result(seconds: float, hazard: float, restart_seconds: float) -> float:
    """The expected time until a task of so long is done, on machines that are lost by the second.

    Each loss costs what ran till then and the time until another machine is there; with hazard h,
    length t and restart s it is (1/h + s)(e^(h·t) - 1).
    """
    if not hazard:
        return seconds
    return (1 / hazard + restart_seconds) * math.expm1(min(MOST_HAZARD, hazard * seconds))


def reliability_with_earlier(seen: float, count: float, earlier: Sequence[Losses]) -> float:
    """γ as seen in so many instances, with those of earlier bags where these are no others."""
    sent = sum(one.sent for one in earlier)
    if not sent:
        return seen
    before = sum(one.returned for one in earlier) / sent
    if count:
        pooled = (seen * count + before * sent) / (count + sent)
        error = math.sqrt(max(1e-9, pooled * (1 - pooled)) * (1 / count + 1 / sent))
        if abs(seen - before) > CONTRADICTED * error:
            return seen
    return (seen * count + before * sent) / (count + sent)
