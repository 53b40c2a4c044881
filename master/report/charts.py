"""The other drawings: tasks and money over time, runtimes, the price and time of schedules."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bats.common.money import UNITS, Money, show
from bats.master.queries.chronicle import BINS_PER_OCTAVE, Chronicle
from bats.master.report.renting import Rented
from bats.master.report.svg import Drawing, duration, round_up

_TALL: Final = 170.0
_LEFT: Final = 64.0
_MOST_BARS: Final = 48
_LETTER: Final = 6.4  # how wide one is, rather more than less
_LINE: Final = 13.0


def progress(chronicle: Chronicle, total: int, now: float, width: float) -> str:
    """Tasks done over time."""
    points = [(0.0, 0.0)]
    done = 0
    for k in sorted(chronicle.done_by_bin):
        start, end = k * chronicle.bin_seconds, min((k + 1) * chronicle.bin_seconds, now)
        points.append((start, done))
        done += chronicle.done_by_bin[k]
        points.append((max(start, end), done))
    points.append((now, done))
    title = f"{done:,} of {total:,} tasks done over time"
    return _curve(title, points, float(total), now, width, lambda value: f"{value:,.0f}", None)


def shares(steps: Sequence[tuple[float, int]], now: float, width: float) -> str:
    """Slots that it had of common machines, in steps."""
    points = [(0.0, 0.0)]
    for at, slots in steps:
        points += [(at, points[-1][1]), (at, float(slots))]
    points.append((now, points[-1][1]))
    most = max(slots for _, slots in steps)
    title = f"slots of common machines over time, {most} at most"
    return _curve(title, points, float(most), now, width, lambda value: f"{value:g}", None)


def money(
    spending: Sequence[tuple[float, Money]],
    limit: Money | None,
    now: float,
    width: float,
    currency: str,
) -> str:
    """Money spent over time, in steps: an ATU is paid when it is entered; "" if nothing was."""
    if not spending:
        return ""
    points: list[tuple[float, float]] = [(0.0, 0.0)]
    for at, amount in spending:
        if at <= now:
            points += [(at, points[-1][1]), (at, amount / UNITS)]
    points.append((now, points[-1][1]))
    spent = points[-1][1]
    most = max(spent, limit / UNITS if limit is not None and limit < 4 * spent * UNITS else 0.0)
    shown = None if limit is None or limit / UNITS > most else limit / UNITS
    title = f"{show(Money(round(spent * UNITS)), currency)} spent over time"

    def words(value: float) -> str:
        return show(Money(round(value * UNITS)), currency)

    return _curve(title, points, most, now, width, words, shown)


def _curve(
    title: str,
    points: Sequence[tuple[float, float]],
    most: float,
    now: float,
    width: float,
    words: Any,
    mark: float | None,
) -> str:
    drawing = Drawing(width, _TALL, title)
    left, right, top, base = _LEFT, width - 10, 8.0, _TALL - 22
    length, highest = max(now, 1e-3), max(most, 1e-9) * 1.04
    drawing.time_axis(left, right, base, top, length)
    step = round_up(highest / 4)
    for k in range(int(highest / step) + 1):
        y = base - (base - top) * k * step / highest
        drawing.line(left, y, right, y, "grid")
        drawing.words(left - 6, y + 4, words(k * step), "tick", "end")
    if mark is not None:
        y = base - (base - top) * mark / highest
        drawing.line(left, y, right, y, "limit")
        drawing.words(left + 4, y + 13, f"limit {words(mark)}", "tick")
    line = [
        (left + (right - left) * at / length, base - (base - top) * value / highest)
        for at, value in points
    ]
    drawing.path([(left, base), *line, (line[-1][0], base)], "area", closed=True)
    drawing.path(line, "curve")
    return drawing.text()


def histogram(runtimes: Mapping[int, int], cluster: str, width: float) -> str:
    """A histogram of runtimes on this cluster; the scale of time is logarithmic."""
    count = sum(runtimes.values())
    drawing = Drawing(width, 120.0, f"Runtimes of {count:,} tasks on {cluster}")
    if not count:
        return drawing.text()
    lowest, highest = min(runtimes), max(runtimes)
    merge = 1
    while (highest - lowest) / merge + 1 > _MOST_BARS:
        merge *= 2
    bars: dict[int, int] = {}
    for k, amount in runtimes.items():
        bars[k // merge] = bars.get(k // merge, 0) + amount
    first, last = min(bars) - 1, max(bars) + 1
    left, right, top, base = 44.0, width - 14, 6.0, 98.0
    bar = (right - left) / (last - first + 1)
    most = max(bars.values())
    drawing.line(left, base, right, base, "axis")
    drawing.words(left - 6, top + 10, f"{most:,}", "tick", "end")
    drawing.words(left - 6, base, "0", "tick", "end")
    every = max(1, -(-(last - first + 1) * 64 // int(right - left)))
    for k in range(first, last + 1):
        begins = 2.0 ** (k * merge / BINS_PER_OCTAVE)
        ends = 2.0 ** ((k + 1) * merge / BINS_PER_OCTAVE)
        x = left + (k - first) * bar
        if amount := bars.get(k, 0):
            tall = (base - top) * amount / most
            hint = f"{amount:,} tasks took {duration(begins)} to {duration(ends)}"
            drawing.rectangle(x + 0.5, base - tall, max(1.0, bar - 1), tall, "use-task", hint)
        if (k - first) % every == 0 and x < right - 30:
            drawing.words(x, base + 14, duration(_two_digits(begins)), "tick", "start")
    return drawing.text()


def runtimes_by_cluster(
    machines: Sequence[Rented], chronicle: Chronicle
) -> dict[str, dict[int, int]]:
    clusters: dict[str, dict[int, int]] = {}
    for machine in machines:
        into = clusters.setdefault(machine.offering.name, {})
        if time := chronicle.machines.get(machine.id):
            for k, amount in time.runtimes.items():
                into[k] = into.get(k, 0) + amount
    return {name: bins for name, bins in clusters.items() if bins}


def scatter(
    schedules: Sequence[Mapping[str, Any]], chosen: str, width: float, currency: str
) -> str:
    """Each schedule's expected time and price, with the bounds where they are known."""
    drawing = Drawing(width, 212.0, f"Price and time of {len(schedules)} schedules")
    left, right, top, base = _LEFT + 8, width - 16, 10.0, 190.0
    most_time, most_money = 1e-3, 1.0
    for one in schedules:
        bounds = one.get("bounds") or {}
        most_time = max(most_time, one["makespan_seconds"], bounds.get("makespan_seconds", 0.0))
        most_money = max(most_money, one["cost"], bounds.get("cost", 0))
    most_time, most_money = most_time * 1.12, most_money * 1.12
    drawing.time_axis(left, right, base, top, most_time)
    step = round_up(most_money / UNITS / 4) * UNITS
    for k in range(int(most_money / step) + 1):
        y = base - (base - top) * k * step / most_money
        drawing.line(left, y, right, y, "grid")
        drawing.words(left - 6, y + 4, show(Money(round(k * step)), currency), "tick", "end")
    drawing.words(right, base - 6, "time", "tick", "end")
    drawing.words(left + 4, top + 8, "price", "tick")
    places: dict[tuple[float, float], list[Mapping[str, Any]]] = {}
    for one in schedules:  # several may come to the same mix
        x = left + (right - left) * one["makespan_seconds"] / most_time
        y = base - (base - top) * one["cost"] / most_money
        places.setdefault((round(x), round(y)), []).append(one)
        if bounds := one.get("bounds"):
            x2 = left + (right - left) * bounds["makespan_seconds"] / most_time
            y2 = base - (base - top) * bounds["cost"] / most_money
            drawing.line(x, y, x2, y, "bound")
            drawing.line(x, y, x, y2, "bound")
    taken: list[tuple[float, float, float]] = []
    for (x, y), here in places.items():
        names = [str(one["name"]) for one in here]
        first = here[0]
        hint = f"{', '.join(names)}: {show(first['cost'], currency)}"
        hint += f" in {duration(first['makespan_seconds'])}"
        drawing.dot(x, y, 6, "chosen" if chosen in names else "offer", hint)
        words = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        if place := _free_place(x, y, _LETTER * len(words), taken, (left, right, base)):
            drawing.words(*place, words, "label")
    return drawing.text()


def _free_place(
    x: float,
    y: float,
    wide: float,
    taken: list[tuple[float, float, float]],
    edges: tuple[float, float, float],
) -> tuple[float, float] | None:
    """A place for words beside a dot where they hide no others; else they are in the dot's hint."""
    left, right, base = edges
    for begins, line in (
        (x + 9, y - 8),
        (x - 9 - wide, y - 8),
        (x + 9, y + 16),
        (x - 9 - wide, y + 16),
    ):
        inside = left <= begins and begins + wide <= right and line < base
        if inside and not any(
            abs(line - other) < _LINE and begins < end and start < begins + wide
            for start, end, other in taken
        ):
            taken.append((begins, begins + wide, line))
            return begins, line
    return None


def _two_digits(seconds: float) -> float:
    return float(f"{seconds:.2g}")
