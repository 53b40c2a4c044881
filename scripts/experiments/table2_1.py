"""Table 2.1 live: five scenarios, each with round robin and with BaTS at two budgets (T §2.3).

A model minute lasts `minute_seconds`, so an ATU of an hour is a short ATU; the service does not
know. Tasks are naps of the shell: a thousand of them, on up to 64 worker processes, cost next to no
processor time, so that 64 machines fit into one. Each run has a simulated twin, with the same
settings and tasks, which is given how long machines took to start and to stop.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from figures import Report
from studies.study import Progress
from studies.table2_1 import PUBLISHED, RR_MINUTES, Published
from studies.table2_1 import settings as simulated_settings
from studies.two_clusters import SCENARIOS, TASKS, sleep_bag

from bats.common.messages import Outcome, Result, TaskId
from bats.master.brain.planning.mix import Mix
from bats.master.brain.protocol.events import Ended, Event
from bats.master.brain.protocol.settings import Settings
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep

from . import drawings, lab
from .decisions import Decisions, compare, decisions
from .options import Options
from .told import Cell, Picture, Table, Told
from .twin import Starts, Twin, starts, twin

NAP: Final = (
    "ms=$(({ms} / BATS_SPEED)); rest=$((1000 + ms % 1000)); exec sleep $((ms / 1000)).${{rest#1}}"
)
"""A nap of so many milliseconds of a machine of speed 1: what POSIX shells do without a process."""

MINUTE_SECONDS: Final = 0.5
LEAST_BOUNDARY_SECONDS: Final = 2.0  # 30 processes that end together on two cores take up to one
QUICK: Final = ("S1-4", "BaTS_RR")
QUICK_SIZE: Final = (200, 4, 0.12)  # tasks, part of machines and money, seconds of a model minute
WHOLE_SIZE: Final = (TASKS, 1, MINUTE_SECONDS)

NAMES: Final = ("cluster0", "cluster1")


@dataclass(frozen=True, slots=True)
class Setting:
    """The part that is run: all of it, or a part with as many dollars per machine."""

    published: Published
    tasks: int
    part: int  # one of so many, of machines and money
    minute_seconds: float
    seed: int

    @property
    def budget(self) -> int | None:
        return None if self.published.budget is None else self.published.budget // self.part

    @property
    def dollars(self) -> float:
        return self.published.dollars / self.part

    @property
    def mix(self) -> Mix:
        return tuple(count // self.part for count in self.published.mix)

    @property
    def speeds(self) -> tuple[int, int]:
        return 1, round(SCENARIOS[self.published.scenario].speed)

    def milliseconds(self) -> list[int]:
        """The milliseconds that each task lasts at speed 1."""
        minutes = sleep_bag(self.tasks, self.seed) / 60
        return [round(1000 * one * self.minute_seconds) for one in minutes]


@dataclass(frozen=True, slots=True)
class Run:
    """One cell of the table."""

    setting: Setting
    live: lab.Live
    decided: Decisions
    measured: Starts
    twin: Twin
    retold: Twin  # as the twin, but told also how long tasks took live
    longer: list[float]  # by how many seconds each task took longer than asked
    between: list[float]  # seconds, from the end of a task to the begin of the next

    @property
    def name(self) -> str:
        return f"{self.setting.published.scenario} {self.setting.published.run}"

    @property
    def left(self) -> int:
        """Tasks that were not done."""
        seen = self.live.account.view
        return seen.total - seen.done

    @property
    def deviation(self) -> float:
        return self.live.seconds / self.twin.seconds - 1


def experiment(options: Options) -> Told:
    told = Told.of("table2.1", "Table 2.1, live")
    tasks, part, minute_seconds = QUICK_SIZE if options.quick else WHOLE_SIZE
    wanted = [
        Setting(p, tasks, part, options.minute_seconds or minute_seconds, options.seed)
        for p in PUBLISHED
        if not options.quick or (p.scenario, p.run) == QUICK
    ]
    progress = Progress("table 2.1, live", len(wanted))
    runs = []
    for setting in wanted:
        runs.append(one(setting))
        progress.step()
    progress.end()
    told.parts.append(_introduction(runs))
    told.parts += [_money(runs), _time(runs), *_pictures(runs), *_decisions(runs)]
    judge(told.report, runs)
    return told


def one(setting: Setting) -> Run:
    milliseconds, speeds = setting.milliseconds(), setting.speeds
    live = lab.run(naps(milliseconds), live_settings(setting))
    decided = decisions(live.settings, live.journal)
    measured = starts(live, decided)
    where = {row.task: NAMES.index(row.cluster) for row in live.tasks}

    def asked(task: TaskId, cluster: int) -> float:
        return milliseconds[task] // speeds[cluster] / 1000

    longer = {row.task: row.wall_seconds - asked(row.task, where[row.task]) for row in live.tasks}
    between = _between(live.tasks)

    def as_measured(task: TaskId, cluster: int) -> float:
        return asked(task, cluster) + longer.get(task, 0.0) + median(between)

    return Run(
        setting,
        live,
        decided,
        measured,
        twin(live.settings, asked, measured),
        twin(live.settings, as_measured, measured),
        list(longer.values()),
        between,
    )


def live_settings(setting: Setting) -> Settings:
    """Those of the study, in short minutes and on processes of this computer."""
    usual = simulated_settings(setting.published.scenario, setting.budget, setting.seed)
    atu_seconds = 60 * setting.minute_seconds
    offerings = tuple(
        replace(
            offering,
            atu_seconds=atu_seconds,
            max_machines=offering.max_machines // setting.part,
            boundary_seconds=min(atu_seconds / 10, max(LEAST_BOUNDARY_SECONDS, atu_seconds / 15)),
            settings={"speed": float(speed)},
        )
        for offering, speed in zip(usual.offerings, setting.speeds, strict=True)
    )
    return replace(
        usual,
        tasks=setting.tasks,
        offerings=offerings,
        monitor_seconds=5 * setting.minute_seconds,
    )


def naps(milliseconds: Sequence[int]) -> Sweep:
    space = Space((Axis(("ms",), (Listed([str(ms) for ms in milliseconds]),)),))
    return Sweep(space, command=NAP, name="naps")


# --- judging --------------------------------------------------------------------------------------


def judge(report: Report, runs: Sequence[Run]) -> None:
    bats = [run for run in runs if run.setting.budget is not None]
    within = sum(run.live.dollars <= (run.setting.budget or 0) for run in bats)
    mixes = sum(_near(run.setting, run.decided.mix) for run in bats)
    worst = max(abs(run.deviation) for run in runs)
    report.bar("live runs within the budget", len(bats), within, within == len(bats))
    report.bar("published mix after the sample, ± 1 machine", len(bats), mixes, mixes == len(bats))
    report.bar("largest deviation of a makespan, live to simulated", 0.08, worst, worst <= 0.08)


def _near(setting: Setting, mix: Mix) -> bool:
    """Equal machines at equal prices (S1-1) may be split in any way."""
    if not mix:
        return False
    if setting.published.scenario == "S1-1":
        return abs(sum(mix) - sum(setting.mix)) <= 1
    return all(abs(a - b) <= 1 for a, b in zip(mix, setting.mix, strict=True))


# --- telling --------------------------------------------------------------------------------------


def _introduction(runs: Sequence[Run]) -> str:
    setting = runs[0].setting
    boots = [run.measured.boot_seconds for run in runs]
    stops = [run.measured.stop_seconds for run in runs if run.decided.stop_seconds]
    delays = [max(run.measured.delays) for run in runs]
    part = f" One of {setting.part} parts of machines and money." if setting.part > 1 else ""
    stopped = (
        f"; released ones were gone {min(stops):.2f} to {max(stops):.2f} s, on average, after they "
        "were told to stop"
        if stops
        else ""
    )
    return (
        f"Real worker processes, up to {64 // setting.part} at a time, and "
        f"{setting.tasks:,} naps of the shell in each run; a model minute lasts "
        f"{setting.minute_seconds:g} s, an ATU {60 * setting.minute_seconds:g} s. Seed "
        f"{setting.seed}.{part} Machines were charged up to {max(delays):.2f} s after they were "
        f"asked for, and could work {min(boots):.2f} to {max(boots):.2f} s later on average"
        f"{stopped}. The simulated twin of each run is given the measured times of that run."
        f"{lab.again(run.live for run in runs)}\n{_unfinished(runs)}"
    )


def _unfinished(runs: Sequence[Run]) -> str:
    """The published budgets at Bmin are so tight that a task more or less decides."""
    live = [f"{run.name} ({run.left} tasks)" for run in runs if not run.live.complete]
    simulated = [run.name for run in runs if not run.twin.complete]
    if not live and not simulated:
        return "All runs did all tasks, live and simulated."
    return (
        "Budgets at Bmin leave no machine to spare, so that a task which ends just after an ATU "
        "instead of before it may not be paid for. Out of money before the last task, live: "
        f"{', '.join(live) or 'none'}; simulated: {', '.join(simulated) or 'none'}."
    )


def _money(runs: Sequence[Run]) -> Table:
    heads = ("run", "budget $", "mix published", "simulated", "live",
             "cost $ published", "simulated", "live")  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        bats, planned = run.setting.budget is not None, run.setting.mix
        rows.append(
            (
                run.name,
                run.setting.budget,
                _mix(planned),
                _mix(run.twin.decisions.mix if bats else planned),
                _mix(run.decided.mix if bats else planned),
                round(run.setting.dollars),
                round(run.twin.dollars),
                round(run.live.dollars),
            )
        )
    return Table(heads, rows, "Published, simulated and live: mix after the sample, and cost")


def _time(runs: Sequence[Run]) -> Table:
    heads = ("run", "ATUs published", "simulated", "live",
             "minutes published", "simulated", "live", "live to simulated")  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        p, minute = run.setting.published, run.setting.minute_seconds
        rows.append(
            (
                run.name,
                p.atus,
                _atus(run.twin.seconds / minute),
                _atus(run.live.seconds / minute),
                RR_MINUTES[p.scenario] if p.budget is None else None,
                round(run.twin.seconds / minute, 1),
                round(run.live.seconds / minute, 1),
                f"{100 * run.deviation:+.1f} %",
            )
        )
    return Table(heads, rows, "Published, simulated and live: makespan")


def _mix(mix: Mix) -> str:
    return " + ".join(map(str, mix)) or "none"


def _atus(minutes: float) -> int:
    return math.ceil(minutes / 60 * (1 - 1e-9))


def _pictures(runs: Sequence[Run]) -> list[Picture]:
    groups = [run.name.replace(" ", "\n") for run in runs]
    minute = runs[0].setting.minute_seconds
    pictures = [
        drawings.bars(
            "Cost",
            groups,
            {
                "published": [run.setting.dollars for run in runs],
                "simulated": [run.twin.dollars for run in runs],
                "live": [run.live.dollars for run in runs],
            },
            "$",
        ),
        drawings.bars(
            "Makespan",
            groups,
            {
                "published (round robin only)": [
                    None if run.setting.budget else RR_MINUTES[run.setting.published.scenario]
                    for run in runs
                ],
                "simulated": [run.twin.seconds / minute for run in runs],
                "live": [run.live.seconds / minute for run in runs],
            },
            "min",
        ),
    ]
    for scenario in dict.fromkeys(run.setting.published.scenario for run in runs):
        series = {}
        for run in runs:
            published = run.setting.published
            if published.scenario == scenario and published.budget is not None:
                series[f"{published.run}, simulated"] = _progress(run.twin.journal, minute)
                series[f"{published.run}, live"] = _progress(run.live.journal, minute)
        pictures.append(drawings.curves(f"{scenario}: tasks done", series, "model minutes"))
    return [Picture(svg) for svg in pictures]


def _progress(journal: Sequence[tuple[float, Event]], minute: float) -> list[tuple[float, float]]:
    points, done = [(0.0, 0.0)], 0
    for now, event in journal:
        if isinstance(event, Ended):
            done += sum(ending.outcome is Outcome.DONE for ending in event.endings)
            points.append((now / minute, float(done)))
    return points[:: max(1, len(points) // 200)]


def _decisions(runs: Sequence[Run]) -> list[str | Table]:
    """The journals of each run and of its twin, and what explains where they part."""
    minute = runs[0].setting.minute_seconds
    rows: list[tuple[Cell, ...]] = []
    parted = again = 0
    for run in runs:
        if run.setting.budget is None:
            continue
        found = compare(NAMES, run.twin.decisions, run.decided, minute)
        rows += [
            (run.name if k == 0 else "", d.what, d.simulated, d.live, d.why or "same")
            for k, d in enumerate(found)
        ]
        parted += sum(bool(d.why) for d in found)
        again += sum(bool(d.why) for d in compare(NAMES, run.retold.decisions, run.decided, minute))
    longer = median(ms for run in runs for ms in run.longer)
    between = median(ms for run in runs for ms in run.between)
    words = (
        f"Of {len(rows)} decisions {len(rows) - parted} are the same live as simulated. The two "
        "are made by the same code from the same seed, so where they part, what they were made "
        "from was not the same; the table says what. The twin knows when machines came and went, "
        f"but its naps last exactly as long as asked and follow each other at once. Live, a nap "
        f"took {1000 * longer:.1f} ms longer (median), and {1000 * between:.1f} ms passed until "
        f"the machine ran the next: {100 * (longer + between) / (15 * minute):.2f} % of a task "
        "of 15 minutes. A decision may hang on one task that was done just before or after an ATU "
        "ended, and the first one that parts draws others after it. Told also how long each task "
        "took live and how long machines waited in between, the twin parts from it in "
        f"{again} decisions instead of {parted}."
    )
    heads = ("run", "decision", "simulated", "live", "difference")
    return [words, Table(heads, rows, "Decisions of the same seed, simulated and live")]


def _between(tasks: Sequence[Result]) -> list[float]:
    """How long a machine waited from one task to the next, as far as it did so at all."""
    by_machine: dict[int, list[Result]] = {}
    for row in sorted(tasks, key=lambda row: row.started):
        by_machine.setdefault(row.machine, []).append(row)
    return [
        max(0.0, later.started - earlier.started - earlier.wall_seconds)
        for rows in by_machine.values()
        for earlier, later in pairwise(rows)
    ]
