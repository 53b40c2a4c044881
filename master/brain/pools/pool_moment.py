"""What a pool looked like when it was looked at."""

from typing import Final, NamedTuple

MOMENTS: Final = 480
"""As many of the last ones are kept."""


class Moment(NamedTuple):
    """Places at a time."""

    at: float
    demand: int
    supply: int
    busy: int
