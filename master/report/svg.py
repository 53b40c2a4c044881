"""Small drawings as SVG text; colours and fonts come from charts.css by the names of classes."""

import math
from collections.abc import Iterable
from html import escape
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400
_TIME_STEPS: Final = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 5, 10, 20, 50, 100)),
)
_SHORTEST, _SHORT = 0.0009995, 0.0995  # seconds that are told as milliseconds, and as seconds
_TICK_WIDTH: Final = 70  # room for a tick's words


class Drawing:
    """Collects shapes; `text()` is the finished SVG, with `title` for those who cannot see it."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width = width
        self.height = height
        self._title = title
        self._parts: list[str] = []

    def rectangle(
        self, x: float, y: float, width: float, height: float, kind: str, hint: str = ""
    ) -> None:
        size = f'width="{_n(max(width, 0.0))}" height="{_n(max(height, 0.0))}"'
        self._add(f'rect x="{_n(x)}" y="{_n(y)}" {size}', kind, hint, "rect")

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._add(f'line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"', kind)

    def path(self, points: list[tuple[float, float]], kind: str, *, closed: bool = False) -> None:
        if points:
            way = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
            self._add(f'path d="M{way}{"Z" if closed else ""}"', kind)

    def dot(self, x: float, y: float, radius: float, kind: str, hint: str = "") -> None:
        self._add(f'circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"', kind, hint, "circle")

    def dots(self, places: Iterable[tuple[float, float]], kind: str) -> None:
        """Many in one shape, which browsers read at once: no hints, and none twice in a place."""
        marks = dict.fromkeys(f"M{_n(x)} {_n(y)}h0" for x, y in places)
        if marks:
            self._add(f'path d="{"".join(marks)}"', kind)

    def words(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        classes = f' class="{kind}"' if kind else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{classes}>{escape(text)}</text>'
        )

    def text(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(self._title)}"'
            f' viewBox="0 0 {_n(self.width)} {_n(self.height)}" width="{_n(self.width)}"'
            f' height="{_n(self.height)}">{"".join(self._parts)}</svg>'
        )

    def time_axis(self, left: float, right: float, y: float, top: float, seconds: float) -> None:
        """Ticks from 0 to `seconds`, with lines up to `top`."""
        step = time_step(seconds, right - left)
        for k in range(int(seconds / step) + 1):
            x = left + (right - left) * k * step / seconds if seconds else left
            self.line(x, top, x, y, "grid")
            anchor = "start" if k == 0 else "middle" if x < right - 18 else "end"
            self.words(x, y + 14, duration(k * step), "tick", anchor)

    def _add(self, what: str, kind: str, hint: str = "", name: str = "") -> None:
        classes = f' class="{kind}"' if kind else ""
        inside = f"><title>{escape(hint)}</title></{name}>" if hint else "/>"
        self._parts.append(f"<{what}{classes}{inside}")


def time_step(seconds: float, pixels: float) -> float:
    """A round distance between ticks."""
    least = seconds * _TICK_WIDTH / max(pixels, 1.0)
    return next((step for step in _TIME_STEPS if step >= least), max(least, 1.0))


def round_up(value: float) -> float:
    """The next number of the row 1, 2, 5, 10, ..."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= value * (1 - 1e-9))


def duration(seconds: float) -> str:
    """`40 µs`, `15 ms`, `0.4 s`, `12 s`, `3m 20s`, `5h 10m`, `2d 3h`."""
    if 0 < seconds < _SHORT:
        return f"{1e6 * seconds:.3g} µs" if seconds < _SHORTEST else f"{1e3 * seconds:.3g} ms"
    if seconds < 10:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    for large, small, names in (
        (_MINUTE, 1, "ms"),
        (_HOUR, _MINUTE, "hm"),
        (_DAY, _HOUR, "dh"),
    ):
        limit = {_MINUTE: _HOUR, _HOUR: _DAY}.get(large, math.inf)
        if whole < limit:
            rest = whole % large // small
            first = f"{whole // large}{names[0]}"
            return f"{first} {rest}{names[1]}" if rest else first
    return ""


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
