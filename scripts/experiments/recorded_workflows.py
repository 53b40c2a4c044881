"""Recorded workflows of others, emulated live under a budget, beside simulated twins of the runs.

Each task sleeps for as long as it once took, so many times faster that the workflow lasts some
seconds. From when the first full set of machines is there, greedy scheduling ends within work /
places + the critical path (Graham, 1969), whatever the order; the bar holds the live run to that.
"""

import gzip
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from numpy.random import default_rng
from studies.world_account import Fate

from bats.common.messages import Outcome
from bats.common.money import Money, as_decimal, money
from bats.master.brain.engine import Engine
from bats.master.brain.graphs.ranks import longest_way
from bats.master.brain.protocol.commands import RunTasks
from bats.master.brain.protocol.events import Ended
from bats.master.brain.protocol.graph import Graph, worked_off
from bats.master.simulate.workflows.scientific import SCIENTIFIC
from bats.master.sweep.workflow.formats import foreign_workflow
from bats.master.sweep.workflow.task_list import Emulation
from bats.master.sweep.workflow.workflow import Workflow

from . import lab, pairs, user
from .options import Options
from .pairs import Asked, Pair, pair
from .told import Table, Told

MACHINES: Final = 4
SLOTS: Final = 2
LASTS_SECONDS: Final = 25.0  # by work / places, or by the critical path
SHORTEST_SECONDS: Final = 0.05  # of a task in the mean: shorter ones measure the computer
LONGEST_SECONDS: Final = 900.0
LONGER: Final = 1.10

CLOUDS: Final = f"""
[[offering]]
name = "node"
price = "0.06"
per = "60s"
atu = "5s"
max = {MACHINES}
slots = {SLOTS}
[offering.local]
"""
PER_SECOND: Final = money("0.001")
"""What a machine costs."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A workflow as it was recorded, and how many times faster it is run."""

    file: Path
    work: Workflow
    speedup: float
    budget: Money

    @property
    def seconds(self) -> Sequence[float]:
        return [one / self.speedup for one in self.work.seconds]


@dataclass(frozen=True, slots=True)
class Run:
    recorded: Recorded
    pair: Pair

    @property
    def took(self) -> list[float]:
        """The seconds of each task, with what a task takes beside its own time."""
        return [one + self.pair.overhead for one in self.recorded.seconds]

    @property
    def violated(self) -> int:
        """Orders that were given before all that their task waits for was recorded."""
        flat = self.recorded.work.graph.pairs()
        parents: dict[int, set[int]] = {}
        for parent, child in zip(flat[::2], flat[1::2], strict=True):
            parents.setdefault(child, set()).add(parent)
        engine, done, early = Engine(self.pair.live.settings), set[int](), 0
        for now, event in self.pair.live.journal:
            if isinstance(event, Ended):
                done |= {one.task for one in event.endings if one.outcome is Outcome.DONE}
            for command in engine.handle(event, now):
                if isinstance(command, RunTasks):
                    early += sum(not parents.get(task, set()) <= done for task, _ in command.orders)
        return early

    @property
    def most(self) -> tuple[int, float]:
        """The most machines at a time, and when they were all there first."""
        changes = sorted(
            change
            for one in self.pair.seen.machines
            if one.joined is not None
            for change in ((one.joined, 1), (one.until, -1))
        )
        here, most, since = 0, 0, 0.0
        for at, change in changes:
            here += change
            if here > most:
                most, since = here, at
        return most, since

    @property
    def limit(self) -> float:
        """The time of Graham's bound for what was left when the first full set was there."""
        machines, since = self.most
        took, graph = self.took, self.recorded.work.graph
        left = [0.0] * graph.tasks
        for one in self.pair.seen.attempts:
            if one.fate is Fate.DONE and one.ended > since:
                left[one.task] = min(took[one.task], one.ended - since)
        way = longest_way(graph, worked_off(graph), left)
        return sum(left) / (SLOTS * machines) + way if machines else float("inf")

    @property
    def lasted(self) -> float:
        """The seconds from the first full set on, in parts of Graham's bound."""
        since = self.most[1]
        end = max(one.ended for one in self.pair.seen.attempts if one.fate is Fate.DONE)
        return (end - since) / self.limit


def experiment(options: Options) -> Told:
    told = Told.of("workflows", "Recorded workflows, emulated live under a budget")
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or _generated(Path(folder))
        found = [_recorded(path) for path in sorted(files.glob("*.json*"))]
        if options.quick:
            found = sorted(found, key=lambda one: one.work.count)[:3]
        runs = user.side_by_side(_one, found, "workflows, live")
    still = lab.again(run.pair.live for run in runs)
    words = (
        f"`bats run FILE --emulate sleep --speedup N --budget B`, {MACHINES} machines of {SLOTS} "
        f"slots, billed by 5 s. {pairs.WORDS}{still}"
    )
    told.parts += [
        words,
        Table(
            ("workflow", "tasks", "speedup", *pairs.HEADS),
            [(_name(run), run.recorded.work.count, round(run.recorded.speedup, 1),
              *pairs.row(run.pair)) for run in runs],
            "Live and simulated",
        ),
        Table(
            ("workflow", "machines", "from s", "of bound", "out of order", "overhead, ms"),
            [(_name(run), run.most[0], round(run.most[1], 2), round(run.lasted, 3), run.violated,
              round(1000 * run.pair.overhead, 1)) for run in runs],
            "From the first full set of machines on",
        ),
    ]  # fmt: skip
    bar = told.report.bar
    done = sum(run.pair.live.complete for run in runs)
    within = sum(run.pair.within for run in runs)
    order = sum(run.violated for run in runs)
    slow = round(max(run.pair.ratio for run in runs), 3)
    far = round(max(run.lasted for run in runs), 3)
    bar("workflows done", len(runs), done, done == len(runs))
    bar("workflows within their budget", len(runs), within, within == len(runs))
    bar("tasks begun before what they wait for", 0, order, order == 0)
    bar("longest makespan, live to simulated", LONGER, slow, slow <= LONGER)
    bar("longest, to work / places + critical path", 1, far, far <= 1)
    return told


def _recorded(path: Path) -> Recorded:
    work = foreign_workflow(path, Emulation())
    assert work is not None
    way = longest_way(work.graph, worked_off(work.graph), work.seconds)
    total = sum(work.seconds)
    fast = max(total / (MACHINES * SLOTS), way) / LASTS_SECONDS
    speedup = max(1.0, min(fast, total / work.count / SHORTEST_SECONDS))
    lasts = (total / (MACHINES * SLOTS) + way) / speedup
    return Recorded(path, work, speedup, Money(int(2 * PER_SECOND * MACHINES * (lasts + 10))))


def _one(recorded: Recorded) -> Run:
    seconds = recorded.seconds

    def words(_: Path) -> list[str]:
        return [str(recorded.file), "--emulate", "sleep", "--speedup", f"{recorded.speedup:g}"]

    asked = Asked(words, CLOUDS, recorded.budget, lambda task, _: seconds[task])
    return Run(recorded, pair(asked, longest_seconds=LONGEST_SECONDS, again=0))


def _name(run: Run) -> str:
    budget = as_decimal(run.recorded.budget)
    return f"{run.recorded.file.name.partition('.')[0]} (${budget:.2f})"


def _generated(folder: Path) -> Path:
    """A workflow of each kind that the simulator makes, as a file in WfFormat."""
    for name, generate in SCIENTIFIC.items():
        made = generate(50, default_rng(1))
        text = json.dumps(wfformat_of(name, made.graph, made.seconds))
        with gzip.open(folder / f"{name}.json.gz", "wt") as file:
            file.write(text)
    return folder


def wfformat_of(name: str, of: Graph, seconds: Sequence[float]) -> dict[str, object]:
    """The graph in WfFormat 1.5, with runtimes and without commands."""
    parents: dict[int, list[str]] = {}
    children: dict[int, list[str]] = {}
    pairs_of = of.pairs()
    for parent, child in zip(pairs_of[::2], pairs_of[1::2], strict=True):
        parents.setdefault(child, []).append(str(parent))
        children.setdefault(parent, []).append(str(child))
    tasks = [
        {"id": str(task), "name": of.steps[of.step_of(task)].name,
         "parents": parents.get(task, []), "children": children.get(task, [])}
        for task in range(of.tasks)
    ]  # fmt: skip
    ran = [{"id": str(task), "runtimeInSeconds": seconds[task]} for task in range(of.tasks)]
    return {
        "name": name,
        "schemaVersion": "1.5",
        "workflow": {"specification": {"tasks": tasks}, "execution": {"tasks": ran}},
    }
