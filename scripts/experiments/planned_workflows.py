"""Workflows planned by `prob`, live, on two kinds of machines whose speed varies.

A Montage of 200 tasks sleeps, on the slow kind for longer and less evenly; a workflow of three
steps computes: parts are made, hashed again and again, all are gathered. Of each run it is noted
what was told when it was decided and what came.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bats.common.money import Money, money
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.events import Ended
from bats.master.simulate.workflows.scientific import montage

from . import lab, user
from .options import Options
from .told import Table, Told

RUNS: Final = 10
TASKS: Final = 200
FASTER: Final = 12.0  # than the tasks of a real Montage
SPEED: Final = (1.0, 2.0)
VARIES: Final = (0.4, 0.1)  # σ of the logarithm of runtimes on each kind
NEAR: Final = 0.15
LONGEST_SECONDS: Final = 300.0

CLOUDS: Final = """
[[offering]]
name = "slow"
price = "0.06"
per = "60s"
atu = "5s"
max = 4
slots = 2
[offering.local]

[[offering]]
name = "fast"
price = "0.15"
per = "60s"
atu = "5s"
max = 4
slots = 2
[offering.local]
"""

THREE_STEPS: Final = """
name = "three steps"

[[step]]
name = "make"
command = "seq {part} 7 100000 | head -c 60000 > part-{part}"
grid = { part = "1:40" }
outputs = ["part-*"]

[[step]]
name = "hash"
command = '''case $BATS_CLUSTER in fast) n=40;; *) n=$((60 + $$ % 40));; esac
for i in $(seq $n); do sha256sum part-{part} > sum-{part}; done; cat sum-{part}'''
grid = { part = "1:40" }
after = { step = "make", each = "part" }
inputs = ["{after.make.outputs}"]
outputs = ["sum-*"]

[[step]]
name = "gather"
command = "cat sum-* | sha256sum > all"
after = "hash"
inputs = ["{after.hash.outputs}"]
outputs = ["all"]
"""


@dataclass(frozen=True, slots=True)
class Run:
    name: str
    budget: Money
    ran: user.Ran

    @property
    def within(self) -> bool:
        return max(self.ran.live.account.view.spent, self.ran.bill) <= self.budget

    @property
    def told(self) -> tuple[float, float] | None:
        """The median that was told when it was decided, and what it took from then on."""
        live = self.ran.live
        engine = Engine(live.settings)
        ended = max(now for now, event in live.journal if isinstance(event, Ended))
        for now, event in live.journal:
            engine.handle(event, now)
            if (told := engine.run.choice.told) is not None:
                bounds = told.schedules[0].bounds
                return None if bounds is None else (bounds.median_seconds, ended - told.at)
        return None


def experiment(options: Options) -> Told:
    told = Told.of("prob", "Workflows planned by `prob`, live, on machines whose speed varies")
    each = 2 if options.quick else RUNS
    jobs = [("Montage", money("2"), seed) for seed in range(each)]
    jobs += [("three steps", money("0.5"), seed) for seed in range(each)]
    runs = user.side_by_side(_one, jobs, "planned by prob, live")
    told.parts += [
        f"`bats run FILE --planner prob --budget B`: a Montage of {TASKS} tasks, three real steps."
        + lab.again(run.ran.live for run in runs),
        Table(
            ("workflow", "done", "budget $", "bill $", "told s", "took s", "of told"),
            [(run.name, run.ran.live.complete, run.budget / 1e9, run.ran.bill / 1e9, *_row(run))
             for run in runs],
            "Each run",
        ),
    ]  # fmt: skip
    bar = told.report.bar
    done = sum(run.ran.live.complete for run in runs)
    within = sum(run.within for run in runs)
    bar("runs that do all tasks", len(runs), done, done == len(runs))
    bar("runs within their budget", len(runs), within, within == len(runs))
    for name in ("Montage", "three steps"):
        of_it = [run.told for run in runs if run.name == name]
        near = sum(one is not None and abs(one[1] / one[0] - 1) <= NEAR for one in of_it)
        enough = round(0.8 * len(of_it))
        bar(f"{name}: within 15 % of the median told", f">= {enough}", near, near >= enough)
    return told


def _row(run: Run) -> tuple[float | None, float | None, float | None]:
    if run.told is None:
        return None, None, None
    median, took = run.told
    return round(median, 1), round(took, 1), round(took / median, 3)


def _one(job: tuple[str, Money, int]) -> Run:
    name, budget, seed = job

    def words(folder: Path) -> list[str]:
        path = folder / ("montage.jsonl" if name == "Montage" else "three.toml")
        path.write_text(_montage(seed) if name == "Montage" else THREE_STEPS, encoding="utf-8")
        return [str(path), "--planner", "prob"]

    return Run(name, budget, user.run(words, CLOUDS, budget, longest_seconds=LONGEST_SECONDS))


def _montage(seed: int) -> str:
    """A task a line, which sleeps for as long as it was drawn to take on the kind it runs on."""
    rng = np.random.default_rng(seed)
    made = montage(TASKS, rng)
    flat = made.graph.pairs()
    parents: dict[int, list[str]] = {}
    for parent, child in zip(flat[::2], flat[1::2], strict=True):
        parents.setdefault(child, []).append(str(parent))
    lines = []
    for task, seconds in enumerate(made.seconds):
        slow, fast = (
            seconds / FASTER / speed * rng.lognormal(-spread * spread / 2, spread)
            for speed, spread in zip(SPEED, VARIES, strict=True)
        )
        command = (
            f"case $BATS_CLUSTER in fast) exec sleep {fast:.3f};; *) exec sleep {slow:.3f};; esac"
        )
        lines.append(
            json.dumps(
                {"id": str(task), "command": command, "after": parents.get(task, []),
                 "step": made.graph.steps[made.graph.step_of(task)].name}
            )
        )  # fmt: skip
    return "\n".join(lines) + "\n"
