"""Machine hours and what is charged for them (Ilyushkin, thesis §4.3.6).

(4.11, 4.12) H̄ = hours on, per place there can be. (4.13, 4.14) C̄ = charged periods, per such place:
each time that a machine is on counts in periods begun.
"""

import math
from collections.abc import Iterable
from typing import Final

HOUR: Final = 3600.0


def accounted_hours(lives: Iterable[tuple[float, float]], most: int) -> float:
    """H̄, of lives of machines in seconds."""
    return sum(end - begin for begin, end in lives) / HOUR / most


def charged_hours(
    lives: Iterable[tuple[float, float]], most: int, period_seconds: float = HOUR
) -> float:
    """C̄, in hours; a machine that was on for no time at all is not charged."""
    periods = sum(math.ceil((end - begin) / period_seconds) for begin, end in lives)
    return periods * period_seconds / HOUR / most
