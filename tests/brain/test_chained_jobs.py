"""A query of fourteen levels of tasks at once, as of MapReduce: what means leave out."""

import numpy as np
import pytest

from bats.master.brain.probability.combination import Evaluation
from bats.master.brain.probability.histogram import from_samples
from bats.master.brain.probability.reduction import Parents
from bats.master.brain.probability.structure import Structure

LEVELS = 14  # seven jobs, each of maps and reduces


def chained(widths: list[int]) -> Parents:
    """Each task waits for all of the level before."""
    parents: list[list[int]] = []
    before: list[int] = []
    for width in widths:
        level = list(range(len(parents), len(parents) + width))
        parents += [before for _ in level]
        before = level
    return parents


def test_fourteen_levels_have_the_mean_of_a_simulation_and_means_tell_less_and_less() -> None:
    rng = np.random.default_rng(1)
    widths = [2 * 2 ** (k // 3) for k in range(LEVELS)]
    structure = Structure.of(chained(widths))
    assert structure.reduction.exact
    of_task = {"any": from_samples(rng.lognormal(0, 0.3, 100_000))}
    told = structure.makespan(Evaluation(of_task), lambda task: "any")
    drawn = structure.draws(of_task, lambda task: "any", 20_000, rng)
    assert told.mean == pytest.approx(drawn.mean(), rel=0.01)
    for tenth in np.arange(1, 10) / 10:
        assert told.quantile(tenth) == pytest.approx(np.quantile(drawn, tenth), rel=0.01)
    short = []
    for depth in range(1, LEVELS + 1):
        upto = Structure.of(chained(widths[:depth]))
        by_means = depth * of_task["any"].mean
        short.append(1 - by_means / upto.makespan(Evaluation(of_task), lambda task: "any").mean)
    assert np.all(np.diff(short) > -1e-6)
    assert short[-1] > 1.5 * short[0]
