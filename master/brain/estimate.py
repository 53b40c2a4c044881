"""What a task of the bag takes by what is known now: what ended, what runs, what was stopped."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from bats.common.billing import ROUNDING
from bats.master.brain.censored import completed
from bats.master.brain.intervals import moments
from bats.master.brain.known import longer_than
from bats.master.brain.profile import EXACT
from bats.master.brain.state import Run
from bats.master.brain.taskbook import TaskState
from bats.master.brain.timetable import Residual

FEW: Final = EXACT // 4
"""Of more runtimes than these, those that still run tell next to nothing new."""


@dataclass(frozen=True, slots=True)
class Estimate:
    residual: Residual  # of the runtimes on the canonical cluster
    spread: float  # c: their standard deviation as a share of their mean
    longer: float  # how much longer tasks are than those that are done already
    noise: float  # the relative error (one σ) of what is left
    waiting: float  # what waits, in tasks of average length


def estimate(run: Run) -> Estimate:
    """Something must be known."""
    known = run.canonical
    sample = list(known.sample())
    if known.count <= FEW:
        sample = completed(sample, list(longer_than(run, run.alive()).values()))
    spread, noise = spread_and_error(sample, known.count, known.longest, run.tasks.waiting)
    residual = Residual(sample)
    longer = fmean(sample) / known.mean_done
    return Estimate(residual, spread, longer, noise, _waiting(run, residual))


def _waiting(run: Run, residual: Residual) -> float:
    """One that was stopped is no average task: it is known to take longer than it had."""
    return run.tasks.waiting + math.fsum(
        residual.lasts(run.outlasted(task)) / residual.mean - 1
        for task in run.tasks.stopped
        if run.tasks.states[task] == TaskState.WAITING
    )


def spread_and_error(
    sample: Sequence[float], done: int, longest: float, waiting: int
) -> tuple[float, float]:
    """c, and the relative error (one σ) of what is left, by a sample completed from tasks done.

    The error is that of a mean known from n tasks, and of a sum of W more; and what of the mean
    rests on runtimes beyond the longest that has ended is a guess as yet.
    """
    known = moments(sample)
    spread = known.sigma / known.mu
    drawn = spread * math.sqrt(1 / done + 1 / max(1, waiting))
    guessed = math.fsum(x for x in sample if x > longest * (1 + ROUNDING)) / math.fsum(sample)
    return spread, math.hypot(drawn, guessed)
