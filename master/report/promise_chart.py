"""Promises over time: what a bag was told to take and cost, and how that moved while it ran."""

import itertools
from collections.abc import Callable, Sequence
from typing import Final

from bats.common.money import Money, show
from bats.common.records import dataclass
from bats.master.brain.views.told.promises import ToldView
from bats.master.report.svg import Drawing, duration, round_up

_TALL: Final = 170.0
_LEFT: Final = 64.0
_ROOM: Final = 0.06  # of the height, above and below


@dataclass(frozen=True, slots=True)
class Moment:
    """The median and the bound that were told at some time, of the whole bag."""

    at: float
    median: float
    bound: float


def ends(looks: Sequence[ToldView], now: float, ended: float | None, width: float) -> str:
    """The time that all of it was to take, the first look being the promise; "" if none was."""
    moments = [Moment(one.at, one.seconds, one.seconds_bound) for one in looks]
    return _drawing("Time of all of it", moments, now, ended, width, duration)


def costs(
    looks: Sequence[ToldView], now: float, spent: Money | None, width: float, currency: str
) -> str:
    """Likewise the price; `spent` is what it came to, once it has ended."""
    moments = [Moment(one.at, float(one.cost), float(one.cost_bound)) for one in looks]

    def words(amount: float) -> str:
        return show(Money(round(amount)), currency)

    return _drawing("Price of all of it", moments, now, spent, width, words)


def _drawing(
    title: str,
    moments: Sequence[Moment],
    now: float,
    came_to: float | None,
    width: float,
    words: Callable[[float], str],
) -> str:
    if not moments:
        return ""
    promise, last = moments[0], moments[-1]
    said = f"{title}: told {words(promise.median)}, at most {words(promise.bound)}"
    if came_to is not None:
        said += f"; came to {words(came_to)}"
    elif last is not promise:
        said += f"; by now {words(last.median)}, at most {words(last.bound)}"
    drawing = Drawing(width, _TALL, said)
    left, right, top, base = _LEFT, width - 12, 8.0, _TALL - 22
    length = max(now, last.at, 1e-3)
    values = [value for one in moments for value in (one.median, one.bound)]
    values += [] if came_to is None else [came_to]
    room = max(_ROOM * max(values), 1e-9)
    low, high = max(0.0, min(values) - room), max(values) + room

    def x(at: float) -> float:
        return left + (right - left) * at / length

    def y(value: float) -> float:
        return base - (base - top) * (value - low) / (high - low)

    drawing.time_axis(left, right, base, top, length)
    step = round_up((high - low) / 4)
    for k in range(int(low // step) + 1, int(high // step) + 1):
        drawing.line(left, y(k * step), right, y(k * step), "grid")
        drawing.words(left - 6, y(k * step) + 4, words(k * step), "tick", "end")
    drawing.line(left, y(promise.bound), right, y(promise.bound), "limit")
    drawing.words(left + 4, y(promise.bound) - 4, f"told: at most {words(promise.bound)}", "tick")
    until = [(one, following.at) for one, following in itertools.pairwise(moments)]
    until.append((last, length))
    steps = [(one, at) for one, end in until for at in (one.at, end)]
    above = [(x(at), y(one.bound)) for one, at in steps]
    below = [(x(at), y(one.median)) for one, at in steps]
    drawing.path([*above, *reversed(below)], "area", closed=True)
    drawing.path(below, "curve")
    for one in moments:
        hint = f"after {duration(one.at)}: {words(one.median)}, at most {words(one.bound)}"
        drawing.dot(x(one.at), y(one.median), 3.5, "offer", hint)
    if came_to is not None:
        drawing.dot(x(length), y(came_to), 5, "chosen", f"came to {words(came_to)}")
    return drawing.text()
