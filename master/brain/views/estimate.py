"""Estimates of a task by what is known now: what ended, what runs, what was stopped."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from bats.common.billing import ROUNDING
from bats.common.records import dataclass
from bats.master.brain.learning.intervals import moments
from bats.master.brain.learning.profile import EXACT
from bats.master.brain.learning.still_running import completed
from bats.master.brain.planning.timetable import Residual
from bats.master.brain.views.known_runtimes import longer_than
from bats.master.brain.views.order.work_left import work_left
from bats.master.brain.views.readonly import ClusterView, RunView, TaskState

FEW: Final = EXACT // 4
"""The number of runtimes beyond which those that still run tell next to nothing new."""


@dataclass(frozen=True, slots=True)
class Estimate:
    residual: Residual  # of the runtimes on the canonical cluster
    spread: float  # c: their standard deviation as a share of their mean
    longer: float  # how much longer tasks are than those that are done already
    noise: float  # the relative error (one σ) of what is left
    waiting: float  # what waits, in tasks of average length


def estimate(run: RunView) -> Estimate:
    """Something must be known."""
    known = run.canonical
    sample = list(known.sample())
    if known.count <= FEW:
        sample = completed(sample, list(longer_than(run, run.pool.alive()).values()))
    spread, noise = spread_and_error(sample, known.count, known.longest, run.tasks.waiting)
    left = work_left(run)
    noise = noise if left.noise is None else left.noise
    residual = Residual(sample)
    longer = fmean(sample) / known.mean_done
    waiting = _waiting(run, residual)
    if run.foreseen is not None:
        waiting = left.tasks / longer  # the law knows those that still run
    return Estimate(residual, spread, longer, noise, waiting)


def typical_seconds(run: RunView, c: ClusterView) -> float:
    """The average runtime here: by tasks that ended here, and by those that ended anywhere.

    A few tasks of many lengths tell less of a kind's speed than the line through common ones.
    """
    own, line = c.profile, c.line
    if not run.canonical.count or math.isinf(line.error):
        return own.mean_done
    told = line.convert(run.canonical.mean_done)
    by_own, by_line = own.spread**2 / own.count, line.error**2
    if by_own + by_line == 0:
        return told
    return (by_line * own.mean_done + by_own * told) / (by_own + by_line)


def _waiting(run: RunView, residual: Residual) -> float:
    """The tasks that wait. One that was stopped is no average task: it takes longer than it had."""
    return work_left(run).tasks + math.fsum(
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
