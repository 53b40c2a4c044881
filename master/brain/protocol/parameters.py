"""Parameters of a sweep as the brain sees them: a number for each task, in their order."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bats.common.records import dataclass

MOST_TASKS: Final = 10_000
"""The tasks of a bag up to which its parameters are looked at: of more the longest matter less."""

MOST_PARAMETERS: Final = 16
MOST_LEVELS: Final = 8
"""The different words that a parameter may have; names of files say nothing that can be learned."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. Where its values are words, each number is the place of one in `levels`."""

    name: str
    values: tuple[float, ...]
    levels: tuple[str, ...] = ()


Parameters = tuple[Parameter, ...]


def parameters_to_plain(parameters: Parameters) -> list[list[Any]]:
    return [[one.name, one.values, one.levels] for one in parameters]


def parameters_from(plain: Sequence[Sequence[Any]]) -> Parameters:
    return tuple(Parameter(name, tuple(values), tuple(levels)) for name, values, levels in plain)


def parameters_of(columns: Mapping[str, Sequence[str]]) -> Parameters:
    """The columns that may say something: numbers, and words of which there are few."""
    found = []
    for name, texts in columns.items():
        known = list(dict.fromkeys(texts))
        if len(known) < 2:
            continue
        numbers = _numbers(texts)
        if numbers is not None:
            found.append(Parameter(name, numbers))
        elif len(known) <= MOST_LEVELS:
            places = {text: float(place) for place, text in enumerate(known)}
            found.append(Parameter(name, tuple(places[t] for t in texts), tuple(known)))
    return tuple(found[:MOST_PARAMETERS])


def _numbers(texts: Sequence[str]) -> tuple[float, ...] | None:
    try:
        numbers = tuple(map(float, texts))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None
