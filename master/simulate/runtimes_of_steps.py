"""Runtimes of a workflow as users write them: of each step its own, or as they were once."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator

from bats.common.errors import UsageError, quoted
from bats.master.simulate.given_runtimes import workload
from bats.master.simulate.workloads import Runtimes, Workload

SHORTEST_SECONDS: Final = 1e-3
"""Tasks that were recorded as taking none take so long."""

_SHOWN: Final = 4  # steps whose runtimes are told one by one


class StepTasks(NamedTuple):
    """The tasks of a step: how many, and the parameters of each, if it has any."""

    name: str
    tasks: int
    rows: Sequence[Mapping[str, str]] = ()


def of_steps(written: Sequence[str], column: str | None, steps: Sequence[StepTasks]) -> Workload:
    """`count=5m` is of the step `count`, one without a step's name of all others.

    Raises UsageError with one sentence.
    """
    names = [step.name for step in steps]
    own: dict[str, str] = {}
    usual: list[str] = []
    for one in written:
        name, equals, times = one.partition("=")
        if not equals or name not in names:
            usual.append(one)
        elif name in own:
            raise UsageError(f"--runtimes: the step {quoted(name)} has two: {own[name]}, {times}.")
        else:
            own[name] = times
    if len(usual) > 1:
        raise UsageError(
            f"--runtimes: one of {quoted(usual[0])} and {quoted(usual[1])} should be of a step: "
            f"{names[0]}={usual[0]}; the steps are {', '.join(names)}."
        )
    if without := [name for name in names if name not in own and not usual]:
        raise UsageError(
            f"--runtimes: nothing says how long tasks of {', '.join(without)} take: give "
            f"{without[0]}=TIMES, or TIMES alone for all other steps."
        )
    drawn = [workload(own.get(s.name) or usual[0], column, s.rows) for s in steps]

    def draw(n: int, rng: Generator) -> Runtimes:
        parts = [one.draw(step.tasks, rng) for one, step in zip(drawn, steps, strict=True)]
        return np.concatenate(parts)[:n]

    return Workload("by steps", _about(names, drawn), draw)


def as_once(seconds: Sequence[float], about: str) -> Workload:
    """Each task takes as long as it once took."""
    known = np.maximum(np.asarray(seconds, dtype=np.float64), SHORTEST_SECONDS)
    return Workload("as once", about, lambda n, _rng: known[:n], len(known))


def as_recorded(seconds: Sequence[float], steps: Sequence[StepTasks]) -> Workload:
    """Each task takes as long as was recorded; 0 is of one of which nothing was.

    That takes the mean of its step, or of all steps.
    """
    recorded = [(task, "", took) for task, took in enumerate(seconds) if took]
    about = "each as recorded"
    if missing := len(seconds) - len(recorded):
        about += f"; {missing} not recorded: the mean of the step"
    return replace(of_run(recorded, steps)[0], about=about)


def of_run(
    found: Iterable[tuple[int, str, float]], steps: Sequence[StepTasks]
) -> tuple[Workload, dict[str, float]]:
    """The runtimes of a finished run and how fast its clusters were: the busiest has speed 1.

    `found` are tasks, where each was done, and its seconds. A cluster's speed is told by what the
    means of the steps say of the tasks that were done there. Tasks that were not done take the mean
    of their step.
    """
    starts = [0, *accumulate(step.tasks for step in steps)]
    done = [
        (bisect_right(starts, task) - 1, task, cluster, seconds) for task, cluster, seconds in found
    ]
    if not done:
        raise UsageError("No task of that bag was done: nothing tells how long its tasks take.")
    by_step: dict[int, list[float]] = {}
    for step, _, _, seconds in done:
        by_step.setdefault(step, []).append(seconds)
    means = {step: math.fsum(some) / len(some) for step, some in by_step.items()}
    taken: dict[str, float] = {}
    usual: dict[str, float] = {}
    for step, _, cluster, seconds in done:
        taken[cluster] = taken.get(cluster, 0.0) + seconds
        usual[cluster] = usual.get(cluster, 0.0) + means[step]
    busiest = max(taken, key=taken.__getitem__)
    base = usual[busiest] / max(taken[busiest], SHORTEST_SECONDS)
    speeds = {k: usual[k] / max(taken[k], SHORTEST_SECONDS) / base for k in taken}
    average = math.fsum(means.values()) / len(means)
    every = [means.get(bisect_right(starts, t) - 1, average) for t in range(starts[-1])]
    for _, task, cluster, seconds in done:
        every[task] = seconds * speeds[cluster]
    return as_once(every, "an earlier run"), speeds


def _about(names: Sequence[str], drawn: Sequence[Workload]) -> str:
    if len({one.about for one in drawn}) == 1:
        return drawn[0].about
    if len(names) > _SHOWN:
        return f"{len(names)} steps, each with runtimes of its own"
    return "; ".join(f"{name}: {one.about}" for name, one in zip(names, drawn, strict=True))
