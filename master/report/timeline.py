"""The machines over time: each one's paid hours and what it did in them, or, of many, how many."""

from collections.abc import Mapping, Sequence
from typing import Final

from bats.common.messages import MachineId
from bats.common.money import show
from bats.common.offering import within_block
from bats.common.units import counted
from bats.master.queries.chronicle import Chronicle, MachineTime, Span, Use
from bats.master.report.renting import Rented
from bats.master.report.svg import Drawing, duration

MOST_LANES: Final = 40  # machines drawn one by one

_LANE: Final = 22.0
_GAP: Final = 6.0
_AREA: Final = 76.0
_NARROW: Final = 600.0
_CALLED: Final = {
    Use.TASK: "done",
    Use.SAMPLE: "sample",
    Use.COPY: "copy or stopped",
    Use.FAILED: "failed",
}


def timeline(
    machines: Sequence[Rented],
    chronicle: Chronicle,
    running: Sequence[tuple[MachineId, int, float]],  # machine, task, since
    now: float,
    width: float,
    currency: str,
) -> str:
    there = [(one, one.since) for one in machines if one.since is not None]
    # An ATU may be paid for far beyond what has happened: show a fifth more at most.
    ends = [min(one.paid_until, 1.2 * now) for one, _ in there if not one.gone]
    length = max([now, *ends, 1e-3])
    if len(there) <= MOST_LANES:
        return _lanes(there, chronicle, running, now, length, width, currency)
    return _areas(there, chronicle.machines, chronicle.bin_seconds, now, length, width)


def _lanes(
    machines: Sequence[tuple[Rented, float]],  # each with the time since when it is paid
    chronicle: Chronicle,
    running: Sequence[tuple[MachineId, int, float]],
    now: float,
    length: float,
    width: float,
    currency: str,
) -> str:
    narrow = width < _NARROW
    left, top = (74.0 if narrow else 130.0), 4.0
    height = top + len(machines) * (_LANE + _GAP) + 22
    drawing = Drawing(width, height, f"Timeline of {counted(len(machines), 'machine')}")
    right = width - 8
    scale = (right - left) / length
    drawing.time_axis(left, right, height - 20, top, length)
    spans: dict[MachineId, list[Span]] = {}
    for span in chronicle.spans:
        spans.setdefault(span.machine, []).append(span)
    for row, (machine, since) in enumerate(machines):
        y = top + row * (_LANE + _GAP)
        number = within_block(machine.id)
        name = _short(machine.offering.name, (10 if narrow else 18) - len(f" {number}"))
        drawing.words(left - 6, y + 15, f"{name} {number}", "label", "end")
        end = min(machine.paid_until, length)
        state = f"gone: {machine.reason}" if machine.gone else "there"
        hint = (
            f"machine {machine.id}, {machine.offering.name}: "
            f"{show(machine.cost, currency)}, {duration(machine.until - since)}, {state}"
        )
        x = left + since * scale
        drawing.rectangle(x, y, (end - since) * scale, _LANE, "paid", hint)
        joined = machine.joined if machine.joined is not None else machine.until
        drawing.rectangle(x, y, (joined - since) * scale, _LANE, "starting", "starting")
        if chronicle.spans_complete:
            _draw_spans(drawing, machine, spans.get(machine.id, []), left, scale, y)
        elif time := chronicle.machines.get(machine.id):
            _draw_load(drawing, machine, time, chronicle.bin_seconds, left, scale, y)
        for owner, task, began in running:
            if owner == machine.id:
                hint = f"task {task}: running for {duration(now - began)}"
                start = left + began * scale
                drawing.rectangle(
                    start, y + 3, max(1.0, (now - began) * scale), _LANE - 6, "running", hint
                )
        _draw_boundaries(drawing, machine, left, scale, length, y)
    if any(not machine.gone for machine, _ in machines):
        drawing.line(left + now * scale, top, left + now * scale, height - 20, "now")
    return drawing.text()


def _draw_spans(
    drawing: Drawing, machine: Rented, spans: list[Span], left: float, scale: float, y: float
) -> None:
    """Each attempt in a row of its slot: the first that is free."""
    ends = [float("-inf")] * max(1, machine.slots)
    slack = 0.5 / scale  # clocks and messages are not exact; half a pixel is no overlap
    for span in sorted(spans, key=lambda one: one.start):
        slot = next((k for k, end in enumerate(ends) if end <= span.start + slack), None)
        if slot is None:
            slot = ends.index(min(ends))
        ends[slot] = max(ends[slot], span.end)
        tall = (_LANE - 6) / len(ends)
        wide = max(0.6, (span.end - span.start) * scale - 0.4)
        hint = f"task {span.task}: {_CALLED[span.use]}, {duration(span.end - span.start)}"
        drawing.rectangle(
            left + span.start * scale,
            y + 3 + slot * tall,
            wide,
            tall - (0.5 if tall > 2 else 0),
            f"use-{span.use.name.lower()}",
            hint,
        )


def _draw_load(
    drawing: Drawing,
    machine: Rented,
    time: MachineTime,
    bin_seconds: float,
    left: float,
    scale: float,
    y: float,
) -> None:
    """The load as a filled curve."""
    tall = _LANE - 6
    for k, seconds in sorted(time.busy.items()):
        share = min(1.0, seconds / (bin_seconds * max(1, machine.slots)))
        drawing.rectangle(
            left + k * bin_seconds * scale,
            y + 3 + tall * (1 - share),
            bin_seconds * scale,
            tall * share,
            "use-task",
        )


def _draw_boundaries(
    drawing: Drawing, machine: Rented, left: float, scale: float, length: float, y: float
) -> None:
    atu = machine.offering.atu_seconds
    if machine.offering.free or machine.since is None or atu * scale < 4:
        return
    k = 1
    while (at := machine.since + k * atu) <= min(machine.paid_until, length) + 1e-6:
        drawing.line(left + at * scale, y - 2, left + at * scale, y + _LANE + 2, "boundary")
        k += 1


def _areas(
    machines: Sequence[tuple[Rented, float]],
    times: Mapping[MachineId, MachineTime],
    bin_seconds: float,
    now: float,
    length: float,
    width: float,
) -> str:
    """A cluster a row: machines paid for, and how many of them were busy."""
    clusters: dict[str, list[tuple[Rented, float]]] = {}
    for machine, since in machines:
        clusters.setdefault(machine.offering.name, []).append((machine, since))
    narrow = width < _NARROW
    left, right, top = (74.0 if narrow else 130.0), width - 8, 6.0
    height = top + len(clusters) * (_AREA + 12) + 22
    drawing = Drawing(width, height, f"{len(machines)} machines over time, by cluster")
    drawing.time_axis(left, right, height - 20, top, length)
    scale = (right - left) / length
    count = min(240, max(1, int(length / bin_seconds) + 1))
    step = max(length / count, bin_seconds)
    for row, (name, group) in enumerate(clusters.items()):
        base = top + row * (_AREA + 12) + _AREA
        paid, busy = [0.0] * (count + 1), [0.0] * (count + 1)
        for machine, since in group:
            end = min(machine.paid_until, length)
            for k in range(int(since / step), min(count, int(end / step)) + 1):
                paid[k] += max(0.0, min(end, (k + 1) * step) - max(since, k * step)) / step
            if time := times.get(machine.id):
                for k, seconds in time.busy.items():
                    at = min(count, int(k * bin_seconds / step))
                    busy[at] += seconds / step / max(1, machine.slots)
        most = max([*paid, 1.0])
        drawing.words(
            left - 6, base - _AREA / 2, _short(name, 10 if narrow else 18), "label", "end"
        )
        drawing.words(left - 6, base - _AREA / 2 + 14, f"max {most:.0f}", "tick", "end")
        for amounts, kind in ((paid, "paid"), (busy, "use-task")):
            points = [(left, base)]
            for k, amount in enumerate(amounts):
                y = base - _AREA * min(amount, most) / most
                points += [
                    (min(right, left + k * step * scale), y),
                    (min(right, left + (k + 1) * step * scale), y),
                ]
            drawing.path([*points, (points[-1][0], base)], kind, closed=True)
    drawing.line(left + now * scale, top, left + now * scale, height - 20, "now")
    return drawing.text()


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
