"""Names of placements, those that the thesis gives them, and numbers after a colon."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from bats.common.errors import UsageError, quoted

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


def parted(name: str) -> tuple[str, str]:
    """The name without its alias, and its number, "" without one. Raises UsageError."""
    plain, colon, number = name.partition(":")
    known = ALIASES.get(plain, plain)
    if not colon:
        return known, ""
    if known not in WITH_NUMBER:
        raise UsageError(f"The placement {quoted(known)} takes no number, as in {quoted(name)}.")
    try:
        fits = 0 <= Fraction(number) <= 1 if known == "reserve" else int(number) >= 0
    except (ValueError, ZeroDivisionError):
        fits = False
    if not fits:
        raise UsageError(
            f"{quoted(name)}: after the colon stands a number, as in `reserve:0.8`, from 0 to 1, "
            "or `look-ahead:2`, 0 or more."
        )
    return known, number
