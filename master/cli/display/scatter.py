"""Price and time of the schedules as a small picture in plain characters."""

from collections.abc import Sequence
from typing import Final

from bats.master.api.replies import Schedule, Strategy
from bats.master.cli.display.formatting import amount, duration

WIDTH: Final = 60  # characters of the plane itself, at most
HEIGHT: Final = 7  # lines of it
LEAST: Final = 3  # lines below which nothing can be seen

_EDGE: Final = " │ "
_PRICE: Final = "  price"


def scatter(
    found: Sequence[Schedule | Strategy], currency: str, *, width: int, height: int = HEIGHT
) -> str:
    """A point for each schedule, called by its number in the table; "" where there is no room."""
    prices = [one["cost"] for one in found]
    times = [one["makespan_seconds"] for one in found]
    slowest, quickest = duration(max(times)), duration(min(times))
    margin = max(len(slowest), len(quickest), len("time"))
    across = min(WIDTH, width - margin - len(_EDGE) - len(_PRICE))
    low, high = amount(min(prices), currency), amount(max(prices), currency)
    least = max(2 * len(found), len(low) + len(high) + 1)
    if height < LEAST or across < least or len({*zip(prices, times, strict=True)}) < 2:
        return ""
    plane = [[" "] * across for _ in range(height)]
    for (column, row), label in _labels(prices, times, across, height).items():
        _write(plane[row], column, label)
    lines = []
    for row, cells in enumerate(plane):
        said = slowest if row == 0 else quickest if row == height - 1 else ""
        lines.append(f"{said:>{margin}}{_EDGE}{''.join(cells)}".rstrip())
    if slowest == quickest:
        lines[-1] = f"{'':>{margin}}{_EDGE}{''.join(plane[-1])}".rstrip()
    lines.append(f"{'time':>{margin}} └─{'─' * across}")
    ends = low if low == high else f"{low:<{across - len(high)}}{high}"
    lines.append(f"{'':>{margin}}{'':>{len(_EDGE)}}{ends}{_PRICE}")
    return "\n".join(lines)


def _labels(
    prices: Sequence[int], times: Sequence[float], across: int, height: int
) -> dict[tuple[int, int], str]:
    """Labels by their places: the numbers of the schedules that fall onto each."""
    placed: dict[tuple[int, int], str] = {}
    for number, (price, time) in enumerate(zip(prices, times, strict=True), 1):
        column = _scaled(price, min(prices), max(prices), across - 1)
        row = height - 1 - _scaled(time, min(times), max(times), height - 1)
        before = placed.get((column, row))
        placed[column, row] = f"{before},{number}" if before else str(number)
    return placed


def _scaled(value: float, low: float, high: float, steps: int) -> int:
    return round((value - low) / (high - low) * steps) if high > low else 0


def _write(cells: list[str], column: int, label: str) -> None:
    """Write a word at its place or, where others stand, as near as may be, a blank between them."""
    last = len(cells) - len(label)
    for at in sorted(range(last + 1), key=lambda k: abs(k - min(column, last))):
        around = cells[max(0, at - 1) : at + len(label) + 1]
        if not "".join(around).strip():
            cells[at : at + len(label)] = label
            return
