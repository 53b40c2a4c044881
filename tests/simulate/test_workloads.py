"""Generated bags have the moments and shapes that the paper prints."""

from pathlib import Path

import numpy as np
import pytest

from bats.common.errors import UsageError
from bats.master.simulate.workloads import (
    WORKLOADS,
    Workload,
    from_csv,
    from_runtimes,
    log_normal,
    multi_modal,
    normal,
    truncated_levy,
    truncated_pareto,
    weibull,
)

MANY = 400_000


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_draws_positive_runtimes_and_the_same_for_the_same_seed(name: str):
    draw = WORKLOADS[name].draw
    runtimes = draw(5000, np.random.default_rng(3))
    assert runtimes.shape == (5000,)
    assert np.all(runtimes > 0)
    assert np.all(np.isfinite(runtimes))
    assert np.array_equal(runtimes, draw(5000, np.random.default_rng(3)))


@pytest.mark.parametrize(
    ("workload", "mean", "sigma"),
    [
        (normal(), 15.0, 5**0.5),
        (normal(60, 4 * 5**0.5), 60.0, 4 * 5**0.5),
        (truncated_levy(), 14.8, 11.1),
        (multi_modal(), 7.9, 6.27),
        (log_normal(15, 0.5), 15.0, 15 * (np.exp(0.25) - 1) ** 0.5),
        (weibull(15, 1.0), 15.0, 15.0),
    ],
)
def test_mean_and_sigma_are_the_published_ones(workload: Workload, mean: float, sigma: float):
    minutes = workload.draw(MANY, np.random.default_rng(1)) / 60
    assert minutes.mean() == pytest.approx(mean, rel=0.01)
    assert minutes.std() == pytest.approx(sigma, rel=0.015)


def test_the_multi_modal_bag_has_two_modes_a_gap_and_a_thin_tail():
    minutes = multi_modal().draw(MANY, np.random.default_rng(2)) / 60
    share = np.histogram(minutes, bins=np.arange(0, 47))[0] / MANY
    assert share[4] > share[8] < share[11] + share[12]
    assert max(share[3:5]) > 0.1
    assert share[20:30].sum() < 0.01
    assert 0.01 < share[30:].sum() < 0.03
    assert minutes.max() < 45


def test_truncated_distributions_end_where_they_are_cut():
    rng = np.random.default_rng(5)
    assert 44 < truncated_levy().draw(MANY, rng).max() / 60 <= 45
    pareto = truncated_pareto(4, 240).draw(MANY, rng) / 60
    assert pareto.min() >= 4
    assert 200 < pareto.max() <= 240


def test_the_runtimes_of_a_finished_bag_come_back_in_another_order():
    bag = from_runtimes([1, 2, 3, 4, 5])
    assert sorted(bag.draw(5, np.random.default_rng(0))) == [1, 2, 3, 4, 5]
    assert set(bag.draw(100, np.random.default_rng(0))) == {1, 2, 3, 4, 5}


def test_a_csv_file_gives_its_first_or_its_named_column(tmp_path: Path):
    file = tmp_path / "runs.csv"
    file.write_text("seconds,host\n1.5,a\n2.5,b\n\n")
    assert sorted(from_csv(file).draw(2, np.random.default_rng(0))) == [1.5, 2.5]
    file.write_text("host,seconds\na,1.5\nb,2.5\n")
    assert sorted(from_csv(file, "seconds").draw(2, np.random.default_rng(0))) == [1.5, 2.5]


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("host\na\n", "seconds", "no column 'seconds'; there are host"),
        ("1\nx\n", None, "line 2"),
        ("1\n-2\n", None, "above 0"),
        ("", None, "at least one"),
    ],
)
def test_a_csv_file_without_runtimes_is_refused(
    tmp_path: Path, text: str, column: str | None, says: str
):
    file = tmp_path / "runs.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=says):
        from_csv(file, column)
