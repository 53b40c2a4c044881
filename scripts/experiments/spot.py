"""Spot machines live: emulated loss, a strategy that the bag chooses, and what was told of it.

For each share of tasks that return (.7, .83, .95) one bag that teaches, then bags of the same
command that are told what they come to, and run; then a pool in which every machine is lost.
"""

import math
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bats.common.messages import BagId
from bats.common.money import UNITS
from bats.master.bag import read_bag
from bats.master.brain.books.instances import Choice
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.events import Event, Weighed
from bats.master.store.reader import Reader

from . import lab, user
from .options import Options
from .told import Cell, Table, Told

SHARES: Final = (0.7, 0.83, 0.95)  # γ
TASKS: Final = 300
MACHINES: Final = 20
RELIABLE: Final = 6
RUNS: Final = 10  # of each share
TASK_SECONDS: Final = 2.0
REPLACED_SECONDS: Final = 3.0  # till a silent machine is held to be lost, is gone and another works
SPREAD: Final = 0.3  # of log runtimes
RATE: Final = 0.002  # of a second
DEAR: Final = 0.02
ATU_SECONDS: Final = 2.0
CLOSE: Final = 0.15
ENOUGH: Final = 0.8  # of the runs
HOPELESS_PER_HOUR: Final = 36_000.0  # a machine lives for a tenth of a second
LONGEST_SECONDS: Final = 900.0
_BATS: Final = Path(sys.executable).with_name("bats")


@dataclass(frozen=True, slots=True)
class Case:
    share: float  # of tasks that return
    lost: str  # as the clouds file says
    tasks: int = TASKS
    per_hour: float | None = None  # None: as the share says

    @property
    def lost_per_hour(self) -> float:
        if self.per_hour is not None:
            return self.per_hour
        return -math.log(self.share) / TASK_SECONDS * 3600

    @property
    def budget(self) -> float:
        """Half as much again as the machines' time that the results should take, and a tail."""
        lost = 4 * TASK_SECONDS + REPLACED_SECONDS
        busy = (TASK_SECONDS * self.share + lost * (1 - self.share)) / self.share
        return round(1.5 * (self.tasks * busy * RATE + MACHINES * TASK_SECONDS * DEAR), 2)

    @property
    def clouds_file(self) -> str:
        common = f'per = "1s"\natu = "{ATU_SECONDS:g}s"\nboundary = "0.5s"\nlease = "2s"\n'
        return (
            f'[[offering]]\nname = "spot"\nprice = "{RATE}"\n{common}max = {MACHINES}\n'
            f"reliable = false\n[offering.local]\nlost_per_hour = {self.lost_per_hour:.6g}\n"
            f'lost = "{self.lost}"\n\n'
            f'[[offering]]\nname = "sure"\nprice = "{DEAR}"\n{common}max = {RELIABLE}\n'
            "[offering.local]\n"
        )


@dataclass(frozen=True, slots=True)
class Run:
    case: Case
    done: int
    seconds: float
    cost: float
    told: tuple[tuple[float, float], ...]  # seconds and cost of the whole bag, at each look
    strategy: str  # the last
    reliable_tasks: int

    def off(self, look: int) -> tuple[float, float]:
        """How far the end was from what was told, as shares of that."""
        seconds, cost = self.told[look]
        return self.seconds / seconds - 1, self.cost / cost - 1

    def close(self, look: int) -> bool:
        return bool(self.told) and all(abs(off) <= CLOSE for off in self.off(look))


def experiment(options: Options) -> Told:
    told = Told.of("spot", "Unreliable machines live: what was told, and what came")
    runs = 2 if options.quick else RUNS
    cases = [Case(share, "silent") for share in (SHARES[:1] if options.quick else SHARES)]
    if not options.quick:
        cases.append(Case(0.83, "told"))
    found = user.side_by_side(lambda case: bags(case, runs + 1, options.seed), cases, "spot, live")
    lost = bags(Case(0.5, "told", 40, HOPELESS_PER_HOUR), 1, options.seed)
    told.parts += [_WORDS, _table(found)]
    bar = told.report.bar
    for case, (_, *counted) in zip(cases, found, strict=True):
        close = sum(run.close(0) for run in counted)
        at_tail = sum(run.close(-1) for run in counted)
        name = f"γ = {case.share:g}, {case.lost}"
        bar(f"{name}: time and cost within 15 % of what was told first, of {len(counted)}",
            ENOUGH * len(counted), close, close >= ENOUGH * len(counted))  # fmt: skip
        told.report.figure(f"{name}: the same of what was told at T_tail", None, at_tail)
    every = [*(run for some in found for run in some), *lost]
    above = sum(run.cost > run.case.budget for run in every)
    bar("runs above their budget", 0, above, above == 0)
    done = sum(run.done == run.case.tasks for run in every)
    bar("runs that did all tasks", len(every), done, done == len(every))
    ended = lost[0].reliable_tasks
    tasks = lost[0].case.tasks
    bar("tasks done by the reliable pool when all else is lost", tasks, ended, ended == tasks)
    return told


def bags(case: Case, count: int, seed: int) -> list[Run]:
    """So many bags of one command, one after another, each knowing what those before it met."""
    with lab.state_folder() as state:
        (state / "clouds.toml").write_text(case.clouds_file, encoding="utf-8")
        return [_bag(case, state, number, seed) for number in range(1, count + 1)]


def _bag(case: Case, state: Path, number: int, seed: int) -> Run:
    rng = random.Random(f"{seed} {case.share} {number}")
    shift = math.log(TASK_SECONDS) - SPREAD**2 / 2
    lengths = [rng.lognormvariate(shift, SPREAD) for _ in range(case.tasks)]
    rows = "\n".join(f"{seconds:.4f}" for seconds in lengths)
    (state / "lengths").write_text(f"{rows}\n", encoding="utf-8")
    argv = [
        str(_BATS), "run", "--state", str(state), "--clouds", "clouds.toml", "--tail", "ntdmr",
        "--strategy", "product", "--budget", f"{case.budget:.2f}", "--array", f"1-{case.tasks}",
        "--", "sh", "-c", f'sleep "$(sed -n "$BATS_INDEX"p {state}/lengths)"',
    ]  # fmt: skip
    said = subprocess.run(
        argv, cwd=state, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        timeout=LONGEST_SECONDS,
    )  # fmt: skip
    live = lab.read(state, BagId(number), [], "", [])
    if not live.tasks:
        raise RuntimeError(f"`bats run` ended with {said.returncode}:\n{said.stdout.decode()}")
    told = _told(state, BagId(number), live.journal)
    known = {m.id: m.offering.name for m in live.account.machines}
    return Run(
        case,
        live.account.view.done,
        live.seconds,
        live.dollars,
        tuple((one.seconds, one.cost / UNITS) for one in told),
        told[-1].written.text if told else "",
        sum(known.get(task.machine) == "sure" for task in live.tasks),
    )


def _told(state: Path, number: BagId, events: Sequence[tuple[float, Event]]) -> list[Choice]:
    """What the bag told at each look, by the brain that told it."""
    with Reader(state) as reader:
        engine = Engine(read_bag(reader, number).settings)
    told = []
    for at, event in events:
        engine.handle(event, at)
        weighed = engine.run.instances.weighed
        if isinstance(event, Weighed) and event.strategy and weighed is not None:
            told.append(weighed)
    return told


_WORDS: Final = (
    f"{TASKS} tasks of {TASK_SECONDS:g} s on average on up to {MACHINES} emulated spot machines "
    f"and {RELIABLE} reliable ones at ten times the price, ATUs of {ATU_SECONDS:g} s, strategy "
    "`product`. Machines are lost at a rate at which that share of tasks returns. Told: the whole "
    "bag's makespan and cost, first when results tell (the first bag of each kind only teaches), "
    "and when the tail begins. Off: the end, above what was told."
)


def _table(found: Sequence[Sequence[Run]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for runs in found:
        for number, run in enumerate(runs):
            offs = [f"{off:+.0%}" for look in (0, -1) for off in run.off(look)] if run.told else []
            rows.append((
                run.case.share, run.case.lost, number or "teaches",
                f"{run.done} of {run.case.tasks}",
                round(run.seconds, 1), round(run.cost, 3), round(run.case.budget, 2),
                *(offs or ["", "", "", ""]), run.strategy, run.reliable_tasks,
            ))  # fmt: skip
    heads = (
        "γ", "lost", "bag", "done", "s", "cost", "budget", "time off", "cost off",
        "time off, tail", "cost off, tail", "strategy", "reliable",
    )  # fmt: skip
    return Table(heads, rows, "Each bag")
