"""Durations, money, shares and tables as they are written for people."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from bats.common.money import Money, show

BARS: Final = " ▁▂▃▄▅▆▇█"
"""Bars of a small chart in a line of text, rising."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def duration(seconds: float | None) -> str:
    """`8.4 s`, `12 min 30 s`, `3 h 05 min`; short, and never more exact than it can be."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"


def runtime(seconds: float | None) -> str:
    """The duration of a task, which may be of milliseconds: `2 ms`."""
    if seconds and seconds < 0.1:
        return f"{max(1, round(1000 * seconds))} ms"
    return duration(seconds)


def amount(value: Any, currency: str = "$") -> str:
    return "–" if value is None else show(Money(value), currency)


def mix(counts: Sequence[int], names: Sequence[str]) -> str:
    """`2 fast + 1 slow`"""
    parts = [f"{n} {name}" for n, name in zip(counts, names, strict=True) if n]
    return " + ".join(parts) or "none"


def printable(text: str) -> str:
    """The words of programs without what would move a terminal's cursor or change its colours."""
    return "".join(one if one.isprintable() else " " for one in _COLOURS.sub("", text))


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns of plain text; numbers are set to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [
        max(len(line[k]) for line in [list(head), *cells]) if cells else len(head[k])
        for k in range(len(head))
    ]
    right = [
        bool(cells) and all(row[k][:1] in "0123456789$€-–" or not row[k] for row in cells)
        for k in range(len(head))
    ]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()

    return "\n".join([line(list(head)), *map(line, cells)])


def bar(share: float, width: int = 24) -> str:
    full = round(max(0.0, min(1.0, share)) * width)
    return "█" * full + "·" * (width - full)
