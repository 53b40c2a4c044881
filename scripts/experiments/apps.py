"""The two applications of the thesis as bags for this computer: real programs on emulated machines.

Three kinds of Amazon machines, ten of each (T §6.2). A bag has a part of the published tasks, and
an ATU is that part of an hour: it takes as many ATUs and as many dollars as the whole would.
A task computes for some 0.1 s and then rests until the machine it runs on would have been done,
which depends on the work in it only, not on how long this computer took.
"""

import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from bats.common.errors import UsageError
from bats.common.messages import TaskId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.client import sweep
from bats.master.sweep.sweep import Sweep

PROGRAMS: Final = Path(__file__).parents[1] / "workloads"
MACHINES: Final = 10
PRICES: Final = {"small": "0.08", "medium": "0.16", "large": "0.32"}
BOUNDARY_SHARE: Final = 0.08  # of an ATU: room for 30 processes that end together
SPARE: Final = 2.5  # so many times the cores that the tasks need, for master, workers and others
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class App:
    name: str
    tasks_published: int
    minutes: tuple[float, float, float]  # mean runtimes that the thesis measured, by machine
    argv: tuple[str, ...]
    size: str  # the parameter that counts the work in a task
    grid: Mapping[str, Any]  # of the tasks

    def speeds(self) -> tuple[float, ...]:
        return tuple(self.minutes[0] / one for one in self.minutes)


KOHONEN: Final = App(
    "kohonen",
    5000,
    (1.66, 0.86, 0.97),
    (sys.executable, str(PROGRAMS / "kohonen.py"), "--iterations", "{iterations}",
     "--seed", "{seed}"),
    "iterations",
    {"iterations": "3150:5850:300", "seed": "1:50"},
)  # fmt: skip
SARSA: Final = App(
    "sarsa",
    9000,
    (0.2960, 0.1542, 0.0822),
    (sys.executable, "-S", str(PROGRAMS / "sarsa.py"), "--epochs", "{epochs}",
     "--exploration", "{exploration}", "--rate", "{rate}", "--seed", "{seed}"),
    "epochs",
    {"epochs": "30:57:3", "exploration": ["0.05", "0.1", "0.2"], "rate": ["0.1", "0.2", "0.3"],
     "seed": "1:6"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bag:
    """An application, fitted to this computer."""

    app: App
    sweep: Sweep
    sizes: tuple[float, ...]  # of the tasks
    pace: float  # how many seconds a size of 1 takes on a machine of speed 1
    minute_seconds: float  # of a task
    atu_seconds: float
    offerings: tuple[Offering, ...]
    cpu_seconds: float  # of a task

    def seconds(self, task: TaskId, cluster: int) -> float:
        """The seconds that a machine of that kind takes for the task."""
        return self.sizes[task] * self.pace / self.app.speeds()[cluster]

    def minutes(self, seconds: float) -> float:
        """As of the whole published bag: an ATU is an hour."""
        return 60 * seconds / self.atu_seconds


def bag(app: App, minute_seconds: float | None) -> Bag:
    """Raises UsageError when a model minute is too short for the cores there are."""
    sample = sweep(argv=list(app.argv), grid=dict(app.grid))
    in_the_middle = shlex.split(sample.preview(sample.count // 2))
    seconds = cpu_seconds(in_the_middle, _TRIES)
    sizes = tuple(float(sample.parameters(index)[app.size]) for index in range(sample.count))
    mean_size = fmean(sizes)
    cores = len(os.sched_getaffinity(0))
    least = max(
        sum(app.speeds()) * MACHINES / cores,  # then the cores are always busy
        max(app.speeds()) * mean_size / min(sizes),  # then one can pass for any machine
    )
    shortest = least * seconds / app.minutes[0]
    minute_seconds = minute_seconds or SPARE * shortest
    if minute_seconds < shortest:
        raise UsageError(
            f"A model minute of {minute_seconds:g} s is too short for {cores} cores to pass for "
            f"{MACHINES * len(PRICES)} machines; --scale should be {shortest:.2g} or more."
        )
    pace = minute_seconds * app.minutes[0] / mean_size
    atu_seconds = 60 * minute_seconds * sample.count / app.tasks_published
    offerings = tuple(
        Offering(
            ClusterName(name),
            money(price),
            atu_seconds,
            MACHINES,
            boundary_seconds=BOUNDARY_SHARE * atu_seconds,
            settings={"speed": speed},
        )
        for (name, price), speed in zip(PRICES.items(), app.speeds(), strict=True)
    )
    fitted = sweep(argv=[*app.argv, "--pace", f"{pace:.6g}"], grid=dict(app.grid))
    return Bag(app, fitted, sizes, pace, minute_seconds, atu_seconds, offerings, seconds)


def cpu_seconds(words: Sequence[str], tries: int) -> float:
    """Processor time of a command, on average."""
    before = _children_seconds()
    for _ in range(tries):
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return (_children_seconds() - before) / tries


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
