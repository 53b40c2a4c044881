"""Windows of measurements: long ones for what is steady, short ones for what moves."""

import numpy as np
import pytest

from bats.master.brain.probability.windows import Measured, best_window

HOUR, DAY = 3600.0, 86400.0


def series(level: float, moving: float, seed: int) -> list[Measured]:
    rng = np.random.default_rng(seed)
    times = np.arange(0, 30 * DAY, 120)
    return [Measured(at, rng.normal(level + moving * (at // (6 * HOUR) % 4), 1)) for at in times]


def test_what_is_steady_is_told_best_by_the_longest_window() -> None:
    assert best_window(series(20, 0.0, 1), [HOUR, DAY, 7 * DAY]) == 7 * DAY


def test_what_moves_with_the_hours_is_told_by_a_window_of_a_day_rather_than_an_hour_or_half() -> (
    None
):
    assert best_window(series(20, 5.0, 2), [6 * HOUR, DAY]) == DAY


def test_too_few_measurements_take_the_longest() -> None:
    assert best_window([Measured(0, 1), Measured(5, 2)], [HOUR, DAY]) == DAY


def test_no_length_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="no length"):
        best_window([], [])
