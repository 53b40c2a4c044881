"""Placement policies by name, with the names that the thesis gives them."""

from collections.abc import Callable, Mapping
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.master.brain.placement.placer import Placer
from bats.master.brain.placement.postponing import OnlineManagement
from bats.master.brain.placement.ranked import CriticalPath, HybridRank, LeastRemaining, Slowdown
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
}

ALIASES: Final[Mapping[str, str]] = {
    "bf": "backfilling",
    "gbf": "backfilling",
    "cpp": "critical-path",
    "fwp": "slowdown",
    "fdws": "least-remaining",
    "hr": "hybrid-rank",
    "sr": "reserve",
    "slop": "reserve",
    "fes": "look-ahead",
    "wheft": "whole-plan",
}

WITH_NUMBER: Final = ("reserve", "look-ahead")
"""Those that take a number after a colon: `reserve:0.8`, `look-ahead:2`."""


def placer(name: str) -> Placer:
    """A policy by its name or alias. Raises UsageError."""
    plain, colon, number = name.partition(":")
    known = ALIASES.get(plain, plain)
    if known not in PLACERS:
        raise UsageError(f"{quoted(name)} is no placement; there are {', '.join(PLACERS)}.")
    if not colon:
        return PLACERS[known]()
    if known not in WITH_NUMBER:
        raise UsageError(f"The placement {quoted(known)} takes no number, as in {quoted(name)}.")
    try:
        return PLACERS[known](number)
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"{quoted(name)}: after the colon stands a number, as in `reserve:0.8` or "
            "`look-ahead:2`."
        ) from None
