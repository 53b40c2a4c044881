"""The rest of a workflow, step by step, in tasks of the average length that plans count in.

A step of which nothing has ended yet counts as the average of those that are known; how much of
the work that is a guess widens the error of plans.
"""

import math
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.graphs.ranks import longest_way
from bats.master.brain.learning.intervals import moments
from bats.master.brain.views.readonly import RunView, StepsView, TaskState

GUESSED: Final = 1.0
"""The relative error of a step of which nothing is known."""

ALONE: Final = 0.5
"""The spread of a step of which one runtime is known, as a share of it."""


@dataclass(frozen=True, slots=True)
class WorkLeft:
    tasks: float  # not begun, in tasks of average length
    noise: float | None  # its relative error (one σ); None of a bag
    steps_unknown: tuple[str, ...]


def work_left(run: RunView) -> WorkLeft:
    """The tasks that are not begun; in a bag each counts as one, unless a law tells of each."""
    graph, steps, means = run.settings.graph, run.steps, step_means(run)
    if run.foreseen is not None and run.canonical.count:
        seconds, noise = run.foreseen.of([s == TaskState.WAITING for s in run.tasks.states])
        return WorkLeft(seconds / run.canonical.mean_done, noise, ())
    if graph is None or steps is None or not means:
        return WorkLeft(float(run.tasks.waiting), None, ())
    average = run.canonical.mean_done or 1.0
    whole = variance = 0.0
    names = []
    for number, (step, mean) in enumerate(zip(graph.steps, means, strict=True)):
        waiting = run.tasks.waiting_of(number)
        if not waiting:
            continue
        work = float(waiting) if mean is None else waiting * mean / average
        whole += work
        variance += (work * _error(run, steps, number, waiting)) ** 2
        if mean is None:
            names.append(step.name)
    return WorkLeft(whole, math.sqrt(variance) / whole if whole else 0.0, tuple(names))


def _error(run: RunView, steps: StepsView, step: int, waiting: int) -> float:
    """The relative error of what waits of a step: that of a mean of few, and of a sum of the rest.

    Two runtimes at least tell a spread; of one it is taken for half of the mean.
    """
    sample = steps.sample(step, run.to_canonical)
    if not sample:
        return GUESSED
    known = moments(sample) if len(sample) > 1 else None
    spread = known.sigma / known.mu if known is not None and known.mu > 0 else ALONE
    return spread * math.sqrt(1 / steps.count(step) + 1 / waiting)


def step_means(run: RunView) -> list[float | None]:
    """The mean runtime of each step on the canonical cluster; empty of a bag, and at first."""
    steps = run.steps
    if steps is None or run.settings.graph is None or not run.canonical.count:
        return []
    return [steps.mean(k, run.to_canonical) for k in range(len(run.settings.graph.steps))]


def critical_seconds(run: RunView) -> float:
    """The time of the longest way through what is left, on the fastest kind that is known.

    No number of machines ends it sooner. 0 of a bag, whose tasks wait for none.
    """
    graph, means = run.settings.graph, step_means(run)
    if graph is None or not means:
        return 0.0
    lines = [
        c.line for c in run.clusters if c.profile.count and (c.startable or _there(run, c.index))
    ]
    if not lines:
        return 0.0
    average = run.canonical.mean_done
    fastest = [
        min(line.convert(average if mean is None else mean) for line in lines) for mean in means
    ]
    open_states = (TaskState.WAITING, TaskState.BLOCKED)
    starts = graph.starts()
    seconds = [0.0] * graph.tasks
    for number in range(len(graph.steps)):
        for task in range(starts[number], starts[number + 1]):
            if run.tasks.states[task] in open_states:
                seconds[task] = fastest[number]
    return longest_way(graph, run.tasks.in_order(), seconds)


def _there(run: RunView, cluster: int) -> bool:
    return bool(run.pool.staying(cluster))
