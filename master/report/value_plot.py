"""The drawing of a value that tasks told against one of their parameters."""

import math
from collections.abc import Sequence
from typing import Final

from bats.common.outcomes.values import Value
from bats.master.report.svg import Drawing, round_up

_TALL: Final = 240.0
_LEFT, _RIGHT, _TOP, _BELOW = 64.0, 16.0, 12.0, 38.0
_MOST_NAMED: Final = 8  # of the texts on the lower axis
_LETTERS: Final = 12
_TICK_WIDTH: Final = 120.0  # there may be twice as many
_MOST_HINTED: Final = 300  # dots that say their values when pointed at: each is two elements


def value_plot(points: Sequence[tuple[Value, Value]], x: str, y: str, width: float) -> str:
    """A dot for each; a parameter of texts stands at even distances. "" if nothing can be drawn."""
    numbers = [(at, float(value)) for at, value in points if is_number(value)]
    if not numbers:
        return ""
    named = None
    if not all(is_number(at) for at, _ in numbers):
        named = sorted({str(at) for at, _ in numbers})
        places = {name: float(k) for k, name in enumerate(named)}
        dots = [(places[str(at)], value) for at, value in numbers]
    else:
        dots = [(float(at), value) for at, value in numbers]
    drawing = Drawing(width, _TALL, f"{y} against {x}, of {len(dots):,} tasks")
    left, right, top, base = _LEFT, width - _RIGHT, _TOP, _TALL - _BELOW
    low_x, high_x = _range([at for at, _ in dots])
    low_y, high_y = _range([value for _, value in dots])

    def across(at: float) -> float:
        return left + (right - left) * (at - low_x) / (high_x - low_x)

    def up(value: float) -> float:
        return base - (base - top) * (value - low_y) / (high_y - low_y)

    for tick in _ticks(low_y, high_y, 4):
        drawing.line(left, up(tick), right, up(tick), "grid")
        drawing.words(left - 6, up(tick) + 4, f"{tick:.7g}", "tick", "end")
    if named is None:
        for tick in _ticks(low_x, high_x, (right - left) / _TICK_WIDTH):
            drawing.line(across(tick), top, across(tick), base, "grid")
            drawing.words(across(tick), base + 14, f"{tick:.7g}", "tick", "middle")
    else:
        for k in range(0, len(named), -(-len(named) // _MOST_NAMED)):
            drawing.words(across(k), base + 14, named[k][:_LETTERS], "tick", "middle")
    drawing.words(right, base + 30, x, "tick", "end")
    drawing.words(left + 4, top + 8, y, "tick")
    if len(dots) > _MOST_HINTED:
        drawing.dots(((across(at), up(value)) for at, value in dots), "dots")
        return drawing.text()
    for (at, value), (named_at, _) in zip(dots, numbers, strict=True):
        drawing.dot(across(at), up(value), 3, "use-task", f"{x} = {named_at}: {y} = {value:.6g}")
    return drawing.text()


def is_number(value: Value) -> bool:
    """True of what can be drawn."""
    return isinstance(value, int | float) and math.isfinite(value)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """With some room on both sides."""
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 0.5 * (abs(low) or 1.0)
    return low - room, high + room


def _ticks(low: float, high: float, about: float) -> list[float]:
    step = round_up((high - low) / about / 2)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]
