"""A graph of tasks as sums and maxima of runtimes, and the distribution of what it takes.

A combination says what is done one after another and what at the same time. It knows no runtimes,
so that it is made once for a structure and evaluated for any assignment of machines. Parts that
are alike under an assignment are computed once and raised to a power, and what was computed for
one assignment serves the next: two plans that differ in a few tasks are told apart by the
operations on those (partial evaluation, PROB section 4.3).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from functools import reduce
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.probability.histogram import (
    Histogram,
    add,
    constant,
    maximum,
    maximum_of,
    sum_of,
)

Key = Hashable


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A leaf: the runtime of one task, as many times as long as what it shares its machine with."""

    number: int
    stretch: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """Parts one after another: their times add up."""

    parts: "tuple[Combination, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class AtOnce:
    """Parts at the same time: the longest counts."""

    parts: "tuple[Combination, ...]"


Combination = Task | InOrder | AtOnce

NOTHING: Final = InOrder(())


def in_order(*parts: Combination) -> Combination:
    """Parts one after another, flat."""
    flat = tuple(
        one for part in parts for one in (part.parts if isinstance(part, InOrder) else (part,))
    )
    return flat[0] if len(flat) == 1 else InOrder(flat)


def at_once(*parts: Combination) -> Combination:
    """Parts at the same time, flat."""
    flat = tuple(
        one for part in parts for one in (part.parts if isinstance(part, AtOnce) else (part,))
    )
    return flat[0] if len(flat) == 1 else AtOnce(flat)


@dataclass(frozen=True, slots=True)
class Operations:
    """The ADD and MAX of a plain evaluation, a pair at a time."""

    additions: int = 0
    maxima: int = 0


def operations(combination: Combination) -> Operations:
    match combination:
        case Task():
            return Operations()
        case InOrder(parts) | AtOnce(parts):
            inner = [operations(part) for part in parts]
            own = max(0, len(parts) - 1)
            adds = isinstance(combination, InOrder)
            return Operations(
                sum(one.additions for one in inner) + own * adds,
                sum(one.maxima for one in inner) + own * (not adds),
            )


class Evaluation:
    """Distributions of combinations, given the distribution of each kind of runtime.

    Tasks with the same key have the same distribution. What was computed stays: evaluate plans
    that differ in little with one of these.
    """

    def __init__(self, runtimes: Mapping[Key, Histogram]) -> None:
        self._runtimes = runtimes
        self._known: dict[Key, Histogram] = {}

    def of(self, combination: Combination, key_of: Callable[[int], Key]) -> Histogram:
        """The distribution of what a combination takes, its tasks keyed by `key_of`."""
        return self._computed(_key(combination, key_of))

    def _computed(self, key: Key) -> Histogram:
        if isinstance(key, _Stretched):
            return self._computed(key.key).scaled(key.by)
        if not isinstance(key, _Parts):
            if key not in self._runtimes:
                known = ", ".join(map(repr, list(self._runtimes)[:5])) or "none"
                raise ValueError(f"No runtime is known of {key!r}; those that are known: {known}.")
            return self._runtimes[key]
        if key not in self._known:
            powers = [
                (sum_of if key.adds else maximum_of)(self._computed(one), number)
                for one, number in key.counted
            ]
            self._known[key] = reduce(add if key.adds else maximum, powers, constant(0.0))
        return self._known[key]


@dataclass(frozen=True, slots=True)
class _Stretched:
    """A task that shares its machine."""

    key: Key
    by: float


@dataclass(frozen=True, slots=True)
class _Parts:
    """A combination as what it is made of and how often: sums and maxima know no order."""

    adds: bool
    counted: frozenset[tuple[Key, int]]


def _key(combination: Combination, key_of: Callable[[int], Key]) -> Key:
    match combination:
        case Task(number, stretch):
            return key_of(number) if stretch == 1.0 else _Stretched(key_of(number), stretch)
        case InOrder(parts) | AtOnce(parts):
            counted = Counter(_key(part, key_of) for part in parts)
            if len(counted) == 1 and counted.total() == 1:
                return next(iter(counted))
            return _Parts(isinstance(combination, InOrder), frozenset(counted.items()))
