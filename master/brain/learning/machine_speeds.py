"""Differences between machines of one offering: the slowness of each against their mean.

The mean runtime of the tasks that a machine ended differs from that of its kind for two reasons:
the machine, and the tasks that it happened to have. What the tasks explain is taken out (empirical
Bayes, a normal shrinkage: the variance between machines is what is left of that of the means when
σ²/n of each, on average, is taken from it).
"""

from collections.abc import Sequence
from statistics import fmean, pvariance
from typing import Final

from bats.common.records import dataclass

KEPT_AS: Final = "(machines)"
"""Stands where others of the table of what was learned have their command."""

PROCESSOR, DATA_IN, DATA_OUT = "(processor)", "(data in)", "(data out)"

PARTS: Final = {KEPT_AS: "tasks", PROCESSOR: "processor", DATA_IN: "data in", DATA_OUT: "data out"}
"""Subjects of what is told of machines, by what they are kept as: tasks, and their parts."""

LEAST_TASKS: Final = 4  # that a machine has ended, to be judged
LEAST_MACHINES: Final = 3  # of a kind, to tell how they vary


@dataclass(frozen=True, slots=True)
class Worked:
    """The tasks that one machine has ended."""

    tasks: int
    seconds: float  # in all


def slowness(machines: Sequence[Worked], sigma: float) -> tuple[float, ...]:
    """The slowness of each machine, rising; 1 is the mean of all. Empty if too few are known.

    `sigma` is the standard deviation of the runtimes of single tasks.
    """
    known = [one for one in machines if one.tasks >= LEAST_TASKS and one.seconds > 0]
    if len(known) < LEAST_MACHINES:
        return ()
    means = [one.seconds / one.tasks for one in known]
    middle = fmean(means)
    by_tasks = [sigma**2 / one.tasks for one in known]
    between = max(0.0, pvariance(means) - fmean(by_tasks))
    shrunk = [
        middle + (mean - middle) * (between / (between + by_chance) if between else 0.0)
        for mean, by_chance in zip(means, by_tasks, strict=True)
    ]
    return tuple(sorted(one / middle for one in shrunk))


def by_mean(of_machines: Sequence[float]) -> tuple[float, ...]:
    """Likewise of what was measured of each as a whole: against the mean of all."""
    if len(of_machines) < LEAST_MACHINES:
        return ()
    middle = fmean(of_machines)
    return tuple(sorted(one / middle for one in of_machines))
