"""The page's drawings: each bag's journal is followed as it grows, never read twice."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.common.outcomes.values import as_typed
from bats.common.records import dataclass
from bats.master.bag import read_bag
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.views.told.promises import ToldView
from bats.master.plain_data import plain
from bats.master.queries.chronicle import MOST_SPANS, Chronicle, tasks_from
from bats.master.report.charts import histogram, money, progress, runtimes_by_cluster, scatter
from bats.master.report.promise_chart import costs, ends
from bats.master.report.renting import of_others, rented, spending
from bats.master.report.step_spans import order_drawn
from bats.master.report.timeline import timeline
from bats.master.report.value_plot import is_number, value_plot
from bats.master.service.api.answering import Service
from bats.master.service.bags.runner import Runner
from bats.master.store.reader import Reader

_MOST_FOLLOWED: Final = 4  # bags whose chronicle is kept
_MOST_DOTS: Final = 2000
_WIDTHS: Final = (280, 1600)


@dataclass(slots=True)
class _Followed:
    chronicle: Chronicle
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class _Moment:
    """Facts that only the event loop may look at, taken down for another thread."""

    now: float
    chosen_at: float
    limit: Money | None
    running: list[tuple[MachineId, int, float]]
    schedules: list[dict[str, Any]]
    chosen: str
    promises: tuple[ToldView, ...]  # the first is what was told at the choice
    ended_at: float | None
    spent: Money


class Drawings:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._followed: OrderedDict[BagId, _Followed] = OrderedDict()

    async def of(self, bag: BagId, width: int, narrow: int = 0) -> dict[str, Any]:
        """All drawings of a bag as SVG, as wide as asked; `narrow` is that of the schedules."""
        width, narrow = _fit(width), _fit(narrow) if narrow else 0
        runner = self._service.bags.loaded.get(bag)
        moment = None
        if runner is not None:
            offered = await runner.predictions.bounded()
            moment = _moment_of(runner, offered)
        loop = asyncio.get_running_loop()
        followed = self._followed.get(bag)
        if followed is None:
            count = await loop.run_in_executor(None, self._count, bag)
            followed = self._followed.setdefault(bag, _Followed(Chronicle(bag, count)))
            while len(self._followed) > _MOST_FOLLOWED:
                self._followed.popitem(last=False)
        self._followed.move_to_end(bag)
        async with followed.turn:
            return await loop.run_in_executor(
                None, self._draw, bag, followed.chronicle, moment, width, narrow
            )

    def _count(self, bag: BagId) -> int:
        with self._service.store.reader() as reader:
            return reader.bag(bag).tasks

    def _draw(
        self,
        number: BagId,
        chronicle: Chronicle,
        moment: _Moment | None,
        width: int,
        narrow: int,
    ) -> dict[str, Any]:
        with self._service.store.reader() as reader:
            row, bag = reader.bag(number), read_bag(reader, number)
            if moment is None:
                moment = _last_moment(json.loads(row.summary or "{}").get("view", {}))
            chronicle.read(reader.events(number, chronicle.events), moment.chosen_at)
            rows = reader.machines(number)
        now = max(moment.now, chronicle.last)
        machines = rented(rows, bag.settings.offerings, chronicle.machines, now)
        there = [*machines, *of_others(bag.settings.offerings, chronicle.machines, now)]
        currency = bag.settings.currency
        half = width if width < 700 else (width - 24) // 2
        runtimes = runtimes_by_cluster(there, chronicle)
        return {
            "timeline": timeline(there, chronicle, moment.running, now, width, currency),
            "order": order_drawn(bag.sweep.graph, half) if bag.sweep.graph else "",
            "progress": progress(chronicle, bag.sweep.count, now, half),
            "money": money(spending(machines), moment.limit, now, half, currency),
            "ends": ends(moment.promises, now, moment.ended_at, half),
            "costs": costs(
                moment.promises,
                now,
                None if moment.ended_at is None else moment.spent,
                half,
                currency,
            ),
            "histograms": [
                {"cluster": name, "svg": histogram(bins, name, half)}
                for name, bins in sorted(runtimes.items())
            ],
            "scatter": scatter(moment.schedules, moment.chosen, narrow or half, currency)
            if len(moment.schedules) > 1
            else "",
        }


def value_drawing(
    reader: Reader, *, number: BagId, value: str, parameter: str, width: int
) -> dict[str, Any]:
    """All names, those that can be drawn, and the drawing; of what is not there, the first.

    Values that repeat a parameter come last.
    """
    sweep = read_bag(reader, number).sweep
    told = reader.values(number, _MOST_DOTS)
    names = list(dict.fromkeys(name for _, found in told for name in found))
    numbers = {name for _, found in told for name, one in found.items() if is_number(one)}
    values = sorted(numbers, key=lambda name: (name in sweep.names, names.index(name)))
    facts: dict[str, Any] = {
        "names": names, "values": values, "parameters": list(sweep.names), "svg": "",
    }  # fmt: skip
    if not (values and sweep.names):
        return facts
    value = value if value in values else values[0]
    if parameter not in sweep.names:
        rows = [sweep.values(task) for task, found in told if value in found]
        parameter = _that_varies(sweep.names, rows)
    at, kind = sweep.names.index(parameter), sweep.types()[parameter]
    points = [
        (as_typed(sweep.values(task)[at], kind), found[value])
        for task, found in told
        if value in found and sweep.values(task)[at]  # a step may not have the parameter
    ]
    svg = value_plot(points, parameter, value, _fit(width))
    return {**facts, "value": value, "parameter": parameter, "svg": svg}


def _that_varies(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first parameter that these tasks, each with its values, do not have in common."""
    columns = zip(names, zip(*rows, strict=True), strict=False)
    return next((name for name, column in columns if len(set(column)) > 1), names[0])


def _fit(width: int) -> int:
    return min(max(width, _WIDTHS[0]), _WIDTHS[1])


def _moment_of(runner: Runner, offered: Sequence[Schedule]) -> _Moment:
    run, view = runner.engine.headline(), runner.engine.view()
    return _Moment(
        run.now if runner.engine.over else runner.clock(),
        tasks_from(run.chosen_at, view.strategy),
        run.limit,
        list(runner.engine.running()[:MOST_SPANS]),
        plain(offered),
        run.chosen,
        () if view.told is None else (view.told, *view.looks),
        view.ended_at,
        view.spent,
    )


def _last_moment(view: dict[str, Any]) -> _Moment:
    limit, told = view.get("limit"), view.get("told")
    return _Moment(
        view.get("now", 0.0),
        tasks_from(view.get("chosen_at", 0.0), view.get("strategy", "")),
        None if limit is None else Money(limit),
        [],
        [],
        view.get("chosen", ""),
        tuple(ToldView(**one) for one in (told, *view.get("looks", ())) if one),
        view.get("ended_at"),
        Money(view.get("spent", 0)),
    )
