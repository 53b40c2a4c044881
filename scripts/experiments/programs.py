"""Runtimes that follow a parameter, live: two real programs, with what that says and without.

`sarsa.py` learns for so many epochs, `xz` compresses so many lines. Every size is twice the one
before. Each bag is run in pairs: once as it is, once with sizes that are written as words, each
another, of which nothing can be learned. Machines are so much slower than this computer that four
of them leave it room; which task is how long is the program's own doing.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

import numpy as np
from studies.study import Progress

from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import Sweep

from . import lab
from .options import Options
from .told import Table, Told

WORKLOADS: Final = Path(__file__).parents[1] / "workloads"
PLACES: Final = 4
PER_PLACE: Final = 12
SLOWER: Final = 6.0
DOUBLINGS: Final = 7
SHORTER: Final = 0.08
SPREAD: Final = 4.0  # p95 over p50, at least
PAIRS: Final = 3


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    argv: tuple[str, ...]  # of which `{n}` is the size
    least: int


PROGRAMS: Final = (
    Program("sarsa.py", (sys.executable, "-S", str(WORKLOADS / "sarsa.py"), "--epochs", "{n}"), 16),
    Program("xz", ("sh", "-c", "seq {n} | xz -c | wc -c"), 8000),
)


@dataclass(frozen=True, slots=True)
class Pair:
    program: str
    with_it: lab.Live
    without: lab.Live

    @property
    def ratio(self) -> float:
        return self.with_it.seconds / self.without.seconds

    @property
    def law(self) -> bool:
        return any(one.words.startswith("runtime ") for one in self.with_it.account.decisions)


def experiment(options: Options) -> Told:
    told = Told.of("programs", "Runtimes that follow a parameter: two real programs")
    pairs = []
    count = 1 if options.quick else PAIRS
    progress = Progress("programs", count * len(PROGRAMS))
    for number in range(count):
        for program in PROGRAMS:
            pairs.append(one(program, options.seed + number))
            progress.step()
    progress.end()
    words = f"{PLACES * PER_PLACE} tasks on {PLACES} machines, {SLOWER:g} times slower than this."
    runs = [run for pair in pairs for run in (pair.with_it, pair.without)]
    told.parts += [words + lab.again(runs), _table(pairs)]
    _judge(told, pairs)
    return told


def one(program: Program, seed: int) -> Pair:
    rng = np.random.default_rng([15, seed])
    sizes = program.least * 2 ** rng.integers(0, DOUBLINGS, PLACES * PER_PLACE)
    plain = [str(size) for size in sizes]
    words = [f"{size}-{place}" for place, size in enumerate(plain)]
    both = [_run(program, values, seed) for values in ((plain, words), (words, plain))[seed % 2]]
    return Pair(program.name, *(both if seed % 2 == 0 else both[::-1]))


def _run(program: Program, values: Sequence[str], seed: int) -> lab.Live:
    space = Space((Axis(("size",), (Listed(values),)),))
    slowly = shlex.join([sys.executable, "-S", str(WORKLOADS / "slowly.py"), f"{SLOWER:g}"])
    asked = " ".join(f'"{word}"' for word in program.argv).replace("{n}", "$n")
    command = f"n={{size}}; n=${{{{n%%-*}}}}; exec {slowly} {asked}"
    free = Offering(ClusterName("free"), NOTHING, 3600.0, PLACES, boundary_seconds=0.5)
    settings = Settings(len(values), (free,), sampling=Sampling.NONE, seed=seed)
    return lab.run(Sweep(space, command=command, name=program.name), settings)


def spread(run: lab.Live) -> float:
    seconds = [task.wall_seconds for task in run.tasks]
    middle, long = np.percentile(seconds, (50, 95))
    return float(long / middle)


def _table(pairs: Sequence[Pair]) -> Table:
    heads = ("program", "p95/p50", "law found", "with, s", "without, s", "with/without")
    rows = [
        (
            pair.program,
            round(spread(pair.without), 1),
            "yes" if pair.law else "no",
            round(pair.with_it.seconds, 1),
            round(pair.without.seconds, 1),
            round(pair.ratio, 3),
        )
        for pair in pairs
    ]
    return Table(heads, rows, "Live, in pairs")


def _judge(told: Told, pairs: Sequence[Pair]) -> None:
    for program in PROGRAMS:
        mine = [pair for pair in pairs if pair.program == program.name]
        ratios = [pair.ratio for pair in mine]
        error = stdev(ratios) / sqrt(len(ratios)) if len(ratios) > 1 else 0.0
        mean = fmean(ratios)
        done = all(run.complete for pair in mine for run in (pair.with_it, pair.without))
        what = f"{program.name}: makespan with over without, mean of {len(mine)} (± {error:.3f})"
        told.report.bar(what, 1 - SHORTER, round(mean, 3), done and mean <= 1 - SHORTER)
        least = min(spread(pair.without) for pair in mine)
        told.report.bar(f"{program.name}: p95/p50", SPREAD, round(least, 1), least >= SPREAD)
