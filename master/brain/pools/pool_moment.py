"""Demand and supply of a pool at the moment of a look."""

from typing import Final, NamedTuple

MOMENTS: Final = 480
"""As many of the last ones are kept."""


class Moment(NamedTuple):
    """Places at a time."""

    at: float
    demand: int
    supply: int
    busy: int
