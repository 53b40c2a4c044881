"""Chapter 6 in miniature: Kohonen maps and SARSA on three kinds of machines (T ch. 6).

As there, one machine of each kind samples, six schedules are offered, and one of them is taken.
What it promised, from the choice on, is set beside what came of it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Final

from figures import Report
from studies.chances import NAMES
from studies.study import Progress

from bats.common.money import Money, as_decimal
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.report.charts import scatter
from bats.master.report.timeline import timeline

from . import drawings, lab, promises
from .apps import KOHONEN, PRICES, SARSA, App, Bag, bag
from .decisions import decisions
from .options import Options
from .promises import Kept
from .told import Cell, Part, Picture, Table, Told
from .twin import Starts, starts

LIKELY: Final = 0.9
DEVIATION: Final = 0.15
"""So far may the outcome be from what was promised."""


def cheapest_sure(schedules: lab.Schedules) -> str:
    """Of a careful user: the cheapest whose budget most likely suffices and whose time is known.

    Below that the bounds lie wide apart: tight money pays for few machines, or for an ATU less.
    """
    for one in schedules:
        bounds = one["bounds"]
        if not bounds or bounds["chance_in_budget"] < LIKELY:
            continue
        if bounds["makespan_seconds"] <= (1 + DEVIATION) * one["makespan_seconds"]:
            return str(one["name"])
    return lab.fastest(schedules)


CHOICES: Final = (cheapest_sure, lab.fastest)

PUBLISHED: Final[Mapping[str, tuple[tuple[Cell, ...], ...]]] = {
    "kohonen": (
        ("cheapest", "2 + 0 + 0, soon 6 + 10 + 0", 10.72, 10.40, 67 * 60, 277),
        ("fastest", "10 + 10 + 10", 16.80, 16.80, None, 150),
    ),
    "sarsa": (
        ("cheapest", "3 + 0 + 0", 3.12, 2.88, None, 691),
        ("cheapest+10%", "10 + 10 + 3", 3.43, 3.36, None, 56),
        ("fastest-10%", "9 + 9 + 9", 5.04, 5.04, None, 48),
        ("fastest", "10 + 10 + 10", 5.60, 5.60, None, 42),
    ),
}
"""Schedule, mix, its budget and what it cost in dollars, promised and actual minutes."""

SEEDS: Final = 10
"""Simulated runs of each choice: a single live one says little of how exact promises are."""


@dataclass(frozen=True, slots=True)
class Run:
    bag: Bag
    live: lab.Live
    kept: Kept
    measured: Starts
    twin: Kept  # simulated with the same seed


def experiment(options: Options) -> Told:
    told = Told.of("chapter6", "Chapter 6 in miniature, live")
    apps = (SARSA,) if options.quick else (KOHONEN, SARSA)
    choices = CHOICES[-1:] if options.quick else CHOICES
    progress = Progress("chapter 6, live", len(apps) * len(choices))
    runs = []
    for app in apps:
        fitted = bag(app, options.minute_seconds)
        mine = []
        for choose in choices:
            mine.append(one(fitted, choose, options.seed))
            progress.step()
        told.parts += _tell(app, fitted, mine, options)
        runs += mine
    progress.end()
    judge(told.report, runs)
    return told


def one(fitted: Bag, choose: lab.Choose, seed: int) -> Run:
    asked = settings(fitted, seed)
    live = lab.run(fitted.sweep, asked, choose)
    measured = starts(live, decisions(live.settings, live.journal))
    twin = promises.simulated(asked, fitted.seconds, measured, choose)
    return Run(fitted, live, promises.live(live), measured, twin)


def settings(fitted: Bag, seed: int) -> Settings:
    return Settings(
        fitted.sweep.count,
        fitted.offerings,
        rule=ASK,
        initial_workers=1,
        monitor_seconds=fitted.atu_seconds / 12,
        seed=seed,
    )


# --- judging --------------------------------------------------------------------------------------


def judge(report: Report, runs: Sequence[Run]) -> None:
    within = sum(run.kept.within for run in runs)
    done = sum(run.kept.complete for run in runs)
    worst = max(abs(run.kept.deviation) for run in runs)
    least = min(run.kept.done for run in runs)
    bar = report.bar
    bar("runs within the budget of the chosen schedule", len(runs), within, within == len(runs))
    bar("runs that do all tasks", len(runs), done, done == len(runs))
    bar("fewest real tasks in a run", 500, least, least >= 500)
    bar("largest deviation of a makespan from the one promised", DEVIATION, worst,
        worst <= DEVIATION)  # fmt: skip


# --- telling --------------------------------------------------------------------------------------


def _tell(app: App, fitted: Bag, runs: Sequence[Run], options: Options) -> list[Part]:
    speeds = ", ".join(f"{speed:.3g}" for speed in app.speeds())
    words = (
        f"{app.name}: {fitted.sweep.count} of {app.tasks_published:,} tasks, real ones, of "
        f"{fitted.cpu_seconds:.2f} s processor time each; machines of speed {speeds}, "
        f"{len(PRICES)} kinds, ten of each. A minute of a task lasts {fitted.minute_seconds:.1f} s "
        f"and an ATU {fitted.atu_seconds:.0f} s, so that this part of the bag takes as many ATUs "
        "and dollars as all of it; its times are told as those of all, an ATU as an hour. "
        f"Chosen are the cheapest schedule whose budget suffices with a chance of {LIKELY:.0%} and "
        f"whose time is known to {DEVIATION:.0%}, and the fastest. "
        f"{in_words(app, results(runs[-1].live))}{lab.again(run.live for run in runs)}"
    )
    return [
        words,
        _schedules(runs),
        _table(app, fitted, runs),
        _exactness(runs[-1], options),
        *_decisions(runs),
        *_pictures(app, runs),
    ]


def results(live: lab.Live) -> list[dict[str, Any]]:
    """The results of the tasks: they are real."""
    return [json.loads(text) for text in live.printed if text]


def in_words(app: App, computed: Sequence[Mapping[str, Any]]) -> str:
    if app is KOHONEN:
        purity = fmean(one["fresh_purity"] for one in computed)
        return f"The maps tell the species of {100 * purity:.0f} % of flowers they have not seen."
    ratio = fmean(one["total_waiting_time"] / one["baseline"]["random"] for one in computed)
    return (
        "After so few days of learning passengers wait "
        f"{ratio:.1f} times as long as with cars sent anywhere."
    )


def _schedules(runs: Sequence[Run]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            f"{one['name']}{' (chosen)' if one['name'] == run.live.chosen else ''}",
            _mix(one["mix"]),
            _dollars(one["budget"]),
            _dollars(one["cost"]),
            _minutes(run.bag, one["makespan_seconds"]),
            *_bounded(run.bag, one["bounds"]),
        )
        for run in runs
        for one in run.live.schedules
    ]
    heads = ("schedule", "mix", "budget $", "cost $", "minutes", "at most, 90 %", "chance")
    return Table(heads, rows, "Schedules offered after the sample, in each run")


def _table(app: App, fitted: Bag, runs: Sequence[Run]) -> Table:
    rows: list[tuple[Cell, ...]] = [("published", *row, None) for row in PUBLISHED[app.name]]
    for run in runs:
        rows.append(("simulated", *_row(fitted, run.twin)))
        rows.append(("live", *_row(fitted, run.kept)))
    heads = ("", "schedule", "mix", "budget $", "cost $", "minutes promised", "actual", "off by")
    return Table(heads, rows, "Promise and outcome, from the choice on")


def _row(fitted: Bag, kept: Kept) -> tuple[Cell, ...]:
    promised = kept.schedule
    return (
        promised["name"],
        _mix(promised["mix"]),
        _dollars(promised["budget"]),
        _dollars(kept.cost),
        _minutes(fitted, promised["makespan_seconds"]),
        _minutes(fitted, kept.seconds),
        _percent(kept.deviation),
    )


def _exactness(run: Run, options: Options) -> Table:
    """Of each choice in simulated runs, where machines come and go as they did in this one."""
    fitted = run.bag
    choices: dict[str, lab.Choose] = {"the careful user's": cheapest_sure}
    choices |= {name: named(name) for name in NAMES}
    rows: list[tuple[Cell, ...]] = []
    for name, choose in choices.items():
        kept = [
            promises.simulated(settings(fitted, seed), fitted.seconds, run.measured, choose)
            for seed in range(options.seed, options.seed + (1 if options.quick else SEEDS))
        ]
        whole = [one for one in kept if one.complete]
        off = sorted(one.deviation for one in whole)
        rows.append(
            (
                name,
                len(kept),
                sum(one.within for one in kept),
                f"{fmean(one.schedule['bounds']['chance_in_budget'] for one in kept):.0%}",
                len(whole),
                sum(one.bound_held for one in whole),
                sum(abs(one) <= DEVIATION for one in off),
                f"{_percent(off[0])} to {_percent(off[-1])}" if off else None,
                _percent(median(off)) if off else None,
            )
        )
    heads = ("schedule", "runs", "within budget", "chance told", "complete", "90 % bound held",
             f"off by ≤ {DEVIATION:.0%}", "off by", "median")  # fmt: skip
    return Table(heads, rows, "How exact promises are: every schedule, simulated with other seeds")


def named(name: str) -> lab.Choose:
    return lambda _: name


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _bounded(fitted: Bag, bounds: Mapping[str, Any] | None) -> tuple[Cell, Cell]:
    if not bounds:
        return "–", "–"
    return _minutes(fitted, bounds["makespan_seconds"]), f"{bounds['chance_in_budget']:.0%}"


def _minutes(fitted: Bag, seconds: float) -> int:
    return round(fitted.minutes(seconds))


def _mix(mix: Iterable[int]) -> str:
    return " + ".join(map(str, mix))


def _dollars(amount: int) -> float:
    return float(round(as_decimal(Money(amount)), 2))


def _decisions(runs: Sequence[Run]) -> list[Table]:
    tables = []
    for run in runs:
        rows: list[tuple[Cell, ...]] = [
            (_minutes(run.bag, row.time), row.words) for row in run.live.account.decisions
        ]
        tables.append(Table(("minute", "decision"), rows, f"Decisions, {run.live.chosen}"))
    return tables


def _pictures(app: App, runs: Sequence[Run]) -> list[Picture]:
    published = {row[0]: row for row in PUBLISHED[app.name]}
    names = [run.live.chosen for run in runs]
    found = [
        drawings.bars(
            title,
            names,
            {
                "published": [_number(published.get(name), column) for name in names],
                "simulated": [value(run.bag, run.twin) for run in runs],
                "live": [value(run.bag, run.kept) for run in runs],
            },
            unit,
        )
        for title, unit, column, value in (
            ("Cost from the choice on", "$", 3, lambda _, kept: _dollars(kept.cost)),
            ("Time from the choice on", "min", 5, lambda bag, kept: bag.minutes(kept.seconds)),
        )
    ]
    for run in runs:
        told = run.live.account
        currency = told.bag.settings.currency
        found.append(scatter(run.live.schedules, run.live.chosen, drawings.WIDTH, currency))
        found.append(
            timeline(told.machines, told.chronicle, (), told.view.now, drawings.WIDTH, currency)
        )
    return [Picture(svg) for svg in found]


def _number(row: Sequence[Cell] | None, column: int) -> float | None:
    value = row[column] if row else None
    return value if isinstance(value, int | float) else None
