"""Drawings of runs: bars side by side, and curves over time; colours come from the page."""

from collections.abc import Mapping, Sequence
from typing import Final

from bats.master.report.svg import Drawing, round_up

WIDTH: Final = 948.0
_TALL: Final = 240.0
_LEFT: Final = 56.0
_LEGEND: Final = 22.0

Points = Sequence[tuple[float, float]]


def bars(
    title: str, groups: Sequence[str], series: Mapping[str, Sequence[float | None]], unit: str
) -> str:
    """A group for each name, a bar for each series in it; None leaves its place empty."""
    drawing = Drawing(WIDTH, _TALL + 30, title)
    values = [value for one in series.values() for value in one if value is not None]
    base, top = _TALL - 20, _LEGEND + 18
    highest = _scale(drawing, title, max([*values, 0.0]), base, top, unit)
    _legend(drawing, list(series), "fill")
    room = (WIDTH - _LEFT - 8) / len(groups)
    each = 0.8 * room / len(series)
    for g, group in enumerate(groups):
        x = _LEFT + g * room
        for row, word in enumerate(group.split("\n")):
            drawing.words(x + room / 2, base + 15 + 13 * row, word, "tick", "middle")
        for s, (name, found) in enumerate(series.items()):
            value = found[g]
            if value is not None:
                tall = (base - top) * value / highest
                hint = f"{name}, {group}: {value:.4g} {unit}"
                drawing.rectangle(
                    x + 0.1 * room + s * each, base - tall, each - 1, tall, f"fill{s}", hint
                )
    return drawing.text()


def curves(title: str, series: Mapping[str, Points], across: str, unit: str = "") -> str:
    """Values over time, all from the same origin."""
    drawing = Drawing(WIDTH, _TALL + 20, title)
    base, top, right = _TALL - 20, _LEGEND + 18, WIDTH - 8
    everything = [point for points in series.values() for point in points]
    longest = max((x for x, _ in everything), default=1.0) or 1.0
    highest = _scale(drawing, title, max((y for _, y in everything), default=1.0), base, top, unit)
    _legend(drawing, list(series), "series")
    step = round_up(longest / 8)
    for k in range(int(longest / step) + 1):
        x = _LEFT + (right - _LEFT) * k * step / longest
        drawing.line(x, top, x, base, "grid")
        drawing.words(x, base + 15, f"{k * step:g}", "tick", "middle" if k else "start")
    drawing.words(right, base + 30, across, "tick", "end")
    for s, points in enumerate(series.values()):
        line = [
            (_LEFT + (right - _LEFT) * x / longest, base - (base - top) * y / highest)
            for x, y in points
        ]
        drawing.path(line, f"series{s}")
    return drawing.text()


def _scale(drawing: Drawing, title: str, most: float, base: float, top: float, unit: str) -> float:
    highest = 1.04 * (most or 1.0)
    drawing.words(_LEFT, 12, title, "label")
    step = round_up(highest / 5)
    for k in range(int(highest / step) + 1):
        y = base - (base - top) * k * step / highest
        drawing.line(_LEFT, y, drawing.width - 8, y, "grid")
        drawing.words(_LEFT - 6, y + 4, f"{k * step:g}", "tick", "end")
    drawing.words(_LEFT - 6, top - 8, unit, "tick", "end")
    return highest


def _legend(drawing: Drawing, names: Sequence[str], kind: str) -> None:
    x = _LEFT
    for s, name in enumerate(names):
        if kind == "fill":
            drawing.rectangle(x, _LEGEND - 4, 10, 10, f"fill{s}")
        else:
            drawing.line(x, _LEGEND + 1, x + 12, _LEGEND + 1, f"series{s}")
        drawing.words(x + 16, _LEGEND + 5, name, "tick")
        x += 40 + 6.5 * len(name)
