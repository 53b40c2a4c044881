"""The reply about the placement by name."""

from typing import TypedDict


class PlacementName(TypedDict):
    name: str
    words: str


class Placement(TypedDict):
    placement: str  # that decides
    sharing: str  # among bags, unless the placement says otherwise
    known: list[PlacementName]
