"""Runtimes convert between clusters along the fitted line, and never into nonsense."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.master.brain.learning.regression import SAME, fit

seconds = st.floats(1e-3, 1e6)


def test_the_fit_is_the_least_squares_line():
    rng = np.random.default_rng(4)
    base = rng.uniform(10, 100, 7)
    other = 5 + 0.5 * base + rng.normal(0, 1, 7)
    line = fit(list(base), list(other))
    slope, intercept = np.polyfit(base, other, 1)
    assert not line.doubt
    assert (line.beta0, line.beta1) == pytest.approx((intercept, slope))


@pytest.mark.parametrize(
    ("base", "other", "says"),
    [
        ([], [], "equal speed"),
        ([10], [5], "single task"),
        ([10, 10, 10], [5, 5, 5], "same time"),
        ([10, 20, 30], [15, 10, 5], "longer tasks here were shorter there"),
        ([10, 11, 12, 13], [5, 9, 4, 8], "hardly go together"),
        ([1, 2, 30], [0.1, 0.1, 20], "no time for the shortest"),
        ([0, 0], [1, 1], "no time"),
    ],
)
def test_a_fit_that_the_pairs_do_not_determine_falls_back_to_the_ratio_of_means(
    base: list[float], other: list[float], says: str
):
    line = fit(base, other)
    assert says in (line.doubt or "")
    if base and sum(base):
        assert line.convert(60) == pytest.approx(60 * sum(other) / sum(base))


@given(st.lists(st.tuples(seconds, seconds), max_size=9), seconds)
def test_no_runtime_converts_to_nothing_or_less(pairs: list[tuple[float, float]], runtime: float):
    line = fit([b for b, _ in pairs], [o for _, o in pairs])
    there = line.convert(runtime)
    assert there > 0
    assert math.isfinite(there)
    assert line.convert(runtime * 2) >= there


def test_a_cluster_converts_to_itself_unchanged():
    assert SAME.convert(12.5) == 12.5


def test_short_tasks_bend_to_the_origin_instead_of_below_it():
    line = fit([10, 20, 30], [2, 12, 22])
    assert line.beta0 == pytest.approx(-8)
    assert line.convert(10) == pytest.approx(2)
    assert line.convert(5) == pytest.approx(1)
