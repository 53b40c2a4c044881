"""Estimates of runtimes, wrong in known ways by a factor f_e (Ilyushkin, thesis §3.2.1)."""

from collections.abc import Sequence

from numpy.random import Generator

from bats.master.simulate.workflows.generated import Generated
from bats.master.simulate.workflows.pool_run import Estimating


def exact(of: Generated, _: Generator) -> Sequence[float]:
    return of.seconds


def static(f_e: float) -> Estimating:
    """Every estimate is d_r · f_e."""
    return lambda of, _: [seconds * f_e for seconds in of.seconds]


def random_one(f_e: float) -> Estimating:
    """Random I: one factor for a whole workflow, uniform in (0, 2 f_e]."""

    def estimating(of: Generated, rng: Generator) -> Sequence[float]:
        factor = (1 - rng.random()) * (2 * f_e)
        return [seconds * factor for seconds in of.seconds]

    return estimating


def random_two(f_e: float) -> Estimating:
    """Random II: each estimate is uniform in (0, 2 f_e], in seconds, whatever the runtime."""
    return lambda of, rng: [float(1 - u) * (2 * f_e) for u in rng.random(len(of.seconds))]
