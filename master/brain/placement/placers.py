"""Placement policies by name, with the names that the thesis gives them."""

from collections.abc import Callable, Mapping
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.master.brain.placement.placement_names import parted
from bats.master.brain.placement.placer import Placer
from bats.master.brain.placement.postponing import OnlineManagement
from bats.master.brain.placement.ranked import (
    BreadthFirst,
    CriticalPath,
    HybridRank,
    LeastRemaining,
    Priority,
    Slowdown,
)
from bats.master.brain.placement.reserved_places import backfilling, look_ahead, reserve
from bats.master.brain.placement.whole_plan import WholePlan

PLACERS: Final[Mapping[str, Callable[..., Placer]]] = {
    "backfilling": backfilling,
    "critical-path": CriticalPath,
    "slowdown": Slowdown,
    "least-remaining": LeastRemaining,
    "hybrid-rank": HybridRank,
    "reserve": reserve,
    "look-ahead": look_ahead,
    "owm": OnlineManagement,
    "whole-plan": WholePlan,
    "breadth-first": BreadthFirst,
    "priority": Priority,
}


def placer(name: str) -> Placer:
    """A policy by its name or alias. Raises UsageError."""
    known, number = parted(name)
    if known not in PLACERS:
        raise UsageError(f"{quoted(name)} is no placement; there are {', '.join(PLACERS)}.")
    return PLACERS[known](number) if number else PLACERS[known]()
