"""Placements by name: presets of how slots are shared among bags, and of the order within one.

The thesis's policies (Ilyushkin, §2.3 and §3.3) look at all workflows for each place. Here a bag
has slots for as long as nobody goes before it, so that they are not asked for one by one: who goes
before whom is theirs, and what a bag begins first is. `brain/placement` has them to the letter.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import fmean
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.common.records import dataclass
from bats.master.brain.household.sharing import Claim, Fifo, Shares, Sharing
from bats.master.brain.placement.placement_names import parted
from bats.master.brain.protocol.course import Course
from bats.master.brain.protocol.events import Order

USUAL: Final = "random"
"""The placement of a master that was told none: shares as its `sharing` says, tasks by chance."""


@dataclass(frozen=True, slots=True)
class Placement:
    """`sharing` None is the master's own. `order` is told how many bags run."""

    name: str
    sharing: Sharing | None = None
    order: Callable[[int], Order] = lambda _: Order.RANDOM
    asks: bool = False  # for the courses of bags
    generations: float = 0  # that courses look ahead
    words: str = ""


class InTurn:
    """Each bag has all that it needs, in the order of a rank; the lowest one first."""

    def __init__(self, rank: Callable[[Claim, float], float], *, by_time: bool = False) -> None:
        self.takes_turns = by_time
        self._rank = rank

    def share(self, slots: int, claims: Sequence[Claim]) -> Shares:
        known = [one.course.mean for one in claims if one.course and one.course.mean]
        unit = fmean(known) if known else 1.0
        return Fifo().share(slots, sorted(claims, key=lambda one: self._rank(one, unit)))


class Keeping:
    """First come, first served; slots that an earlier bag may use later are kept for it."""

    takes_turns = False

    def __init__(self, part: Fraction) -> None:
        self._part = part

    def share(self, slots: int, claims: Sequence[Claim]) -> Shares:
        return Fifo().share(slots, [self._with_kept(one) for one in claims])

    def _with_kept(self, one: Claim) -> Claim:
        if not one.needs or one.course is None:
            return one
        kept = math.ceil(self._part * one.course.level) * one.width
        return replace(one, needs=max(one.needs, kept))


def remaining(one: Claim, unit: float) -> float:
    """FDWS (§3.3.5): (m_j / p_j) · c_j."""
    course = _course(one)
    return course.unfinished / course.tasks * _seconds(course.critical, course, unit)


def urgency(one: Claim, unit: float) -> float:
    """FWP (§3.3.7), negated: the slowdown that is coming, (t_j + ĉ_j) / c_j.

    Courses are in seconds by what has been measured, for which the thesis has its factor ξ.
    """
    course = _course(one)
    critical = _seconds(course.critical, course, unit)
    return -(one.age + _seconds(course.left, course, unit)) / critical if critical else 0.0


def next_rank(one: Claim, unit: float) -> float:
    """HR (§3.3.6): the lowest r_u of a ready task."""
    course = _course(one)
    return _seconds(course.next_rank, course, unit)


def _course(one: Claim) -> Course:
    """That of a bag that has just come is a task of the usual length."""
    return one.course or Course(1, 1, 1.0, 1.0, 1.0)


def _seconds(told: float, course: Course, unit: float) -> float:
    return told if course.mean else told * unit


def _longest(_: int) -> Order:
    return Order.LONGEST


def _hybrid(bags: int) -> Order:
    return Order.SHORTEST if bags > 1 else Order.LONGEST


_WASTES: Final = "keeps slots idle for bags that came earlier: others wait longer"

PLACEMENTS: Final[Mapping[str, Placement]] = {
    one.name: one
    for one in (
        Placement(USUAL, words="shares as --sharing says, ready tasks by chance"),
        Placement("backfilling", Fifo(), words="the bag that came first, its tasks by chance"),
        Placement("critical-path", Fifo(), _longest,
                  words="the bag that came first, its task of the longest way to the end"),
        Placement("slowdown", InTurn(urgency, by_time=True), _longest, asks=True,
                  words="the bag that is slowed down most, its task of the longest way"),
        Placement("least-remaining", InTurn(remaining), _longest, asks=True,
                  words="the bag with least to do, its task of the longest way"),
        Placement("hybrid-rank", InTurn(next_rank), _hybrid, asks=True,
                  words="of several bags the task of the shortest way, of one of the longest"),
        Placement("reserve", Keeping(Fraction(1)), asks=True, generations=math.inf, words=_WASTES),
        Placement("look-ahead", Keeping(Fraction(1)), asks=True, generations=1, words=_WASTES),
    )
}  # fmt: skip

ONLY_SIMULATED: Final = ("owm", "whole-plan")


def placement(name: str) -> Placement:
    """A placement by its name or alias, as `reserve:0.8`. Raises UsageError."""
    known, number = parted(name)
    if known in ONLY_SIMULATED:
        raise UsageError(
            f"The placement {quoted(name)} needs runtimes of all tasks beforehand, which only a "
            f"simulation has; a master takes {', '.join(PLACEMENTS)}."
        )
    if known not in PLACEMENTS:
        raise UsageError(f"{quoted(name)} is no placement; there are {', '.join(PLACEMENTS)}.")
    usual = PLACEMENTS[known]
    if not number:
        return usual
    named = replace(usual, name=f"{known}:{number}")
    if known == "reserve":
        return replace(named, sharing=Keeping(Fraction(number)))
    return replace(named, generations=int(number))
