"""Random variables as histograms, held against a million draws of the same."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from bats.master.brain.probability import histogram
from bats.master.brain.probability.histogram import (
    Histogram,
    add,
    bhattacharyya,
    chance_more,
    constant,
    from_samples,
    is_more,
    maximum,
    maximum_of,
    mixture,
    product,
    runtime,
    sum_of,
    transfer,
)

Floats = NDArray[np.float64]
MILLION = 1_000_000

DRAWN: dict[str, Callable[[Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(15, 2, n),
    "exponential": lambda rng, n: rng.exponential(10, n),
    "log-normal": lambda rng, n: rng.lognormal(2, 1, n),
    "Pareto": lambda rng, n: 3 * (1 + rng.pareto(1.7, n)),
    "two modes": lambda rng, n: rng.normal(np.where(rng.random(n) < 0.35, 50, 10), 2),
    "uniform": lambda rng, n: rng.uniform(1, 30, n),
}
TENTHS = np.arange(1, 10) / 10


def deciles(drawn: Floats) -> Floats:
    places = (TENTHS * drawn.size).astype(int)
    return np.partition(drawn, places)[places]


def near(found: Histogram, drawn: Floats, within: float = 0.01) -> None:
    """Every decile within 1 %; in a gap between modes, as probable to a bin."""
    for tenth, true in zip(TENTHS, deciles(drawn), strict=True):
        told = found.quantile(tenth)
        if told != pytest.approx(true, rel=within):
            assert (drawn <= told).mean() == pytest.approx(tenth, abs=1 / histogram.BINS)


def test_sums_and_maxima_of_fifty_pairs_have_the_deciles_of_a_million_draws() -> None:
    rng = np.random.default_rng(11)
    names = list(DRAWN)
    banks = [[DRAWN[name](rng, MILLION) for name in names] for _ in range(2)]
    known = [[from_samples(drawn) for drawn in bank] for bank in banks]
    for _ in range(50):
        i, j = rng.integers(len(names), size=2)
        size = rng.uniform(0.3, 3)
        first, second = banks[0][i], size * banks[1][j]
        x, y = known[0][i], known[1][j].scaled(size)
        near(add(x, y), first + second)
        near(maximum(x, y), np.maximum(first, second))


@pytest.mark.parametrize("name", ["normal", "exponential", "two modes"])
def test_a_product_has_the_deciles_of_a_million_draws(name: str) -> None:
    rng = np.random.default_rng(12)
    seconds, slowness = DRAWN[name](rng, MILLION), rng.lognormal(0, 0.4, MILLION)
    near(product(from_samples(seconds), from_samples(slowness)), seconds * slowness)
    assert product(constant(2.0), from_samples(seconds)).mean == pytest.approx(2 * seconds.mean())


def test_a_runtime_is_what_the_processor_takes_and_its_data() -> None:
    rng = np.random.default_rng(13)
    cpu, disk, net = (rng.gamma(9, size, MILLION) for size in (2, 10, 3))
    of_disk, of_net = from_samples(disk), from_samples(net)
    near(runtime(from_samples(cpu), (900, of_disk), (200, of_net)), cpu + 900 / disk + 200 / net)
    assert runtime(constant(3.0), (0.0, of_disk)).mean == 3.0


@pytest.mark.parametrize("name", DRAWN)
def test_means_are_kept_exactly_by_sums(name: str) -> None:
    rng = np.random.default_rng(1)
    x = from_samples(DRAWN[name](rng, 10_000))
    assert sum_of(x, 13).mean == pytest.approx(13 * x.mean, rel=1e-9)


def test_the_longest_of_a_thousand_is_told_by_the_halved_bins() -> None:
    rng = np.random.default_rng(2)
    x = from_samples(rng.lognormal(0, 1, MILLION))
    drawn = rng.lognormal(0, 1, (4000, 1000)).max(axis=1)
    longest = maximum_of(x, 1000)
    assert longest.mean == pytest.approx(drawn.mean(), rel=0.03)
    assert longest.quantile(0.9) == pytest.approx(np.quantile(drawn, 0.9), rel=0.05)
    uppermost = slice(histogram.BINS - 1, None)
    of_equal_bins = x.points[uppermost] @ histogram.WEIGHTS[uppermost] * histogram.BINS
    assert longest.quantile(0.9) > 1.5 * of_equal_bins  # all that equal bins can say


def test_the_greater_of_two_has_a_mean_of_at_least_both() -> None:
    rng = np.random.default_rng(3)
    x, y = (from_samples(DRAWN[name](rng, 5000)) for name in ("normal", "uniform"))
    assert maximum(x, y).mean >= max(x.mean, y.mean)  # lemma 1 of the paper


def test_sums_and_maxima_know_no_order() -> None:
    rng = np.random.default_rng(4)
    x, y = (from_samples(DRAWN[name](rng, 5000)) for name in ("Pareto", "two modes"))
    for both in (add, maximum):
        assert both(x, y).points == pytest.approx(both(y, x).points)


def test_of_what_still_runs_and_of_mixtures_deciles_are_those_of_a_million_draws() -> None:
    rng = np.random.default_rng(14)
    one, other = DRAWN["log-normal"](rng, MILLION), DRAWN["uniform"](rng, MILLION)
    x, y = from_samples(one), from_samples(other)
    near(x.given_more_than(12.0), one[one > 12.0], within=0.015)  # of a third of the bins
    near(x.scaled(2.5).shifted(4.0), 2.5 * one + 4.0)
    near(mixture([(1, x), (3, y)]), np.where(rng.random(MILLION) < 0.25, one, other))
    assert chance_more(x, y) == pytest.approx(float((one > other).mean()), abs=0.003)


def test_what_still_runs_takes_at_least_what_it_ran() -> None:
    x = from_samples(np.random.default_rng(5).exponential(10, 100_000))
    left = x.given_more_than(20).shifted(-20)
    assert left.points[0] >= 0
    assert left.mean == pytest.approx(10, rel=0.05)  # an exponential has no memory
    assert x.given_more_than(1e9).mean == pytest.approx(1e9)  # longer than any: it ends now


def test_a_mixture_is_one_of_its_parts() -> None:
    x = mixture([(3, constant(1.0)), (1, constant(5.0))])
    assert x.mean == pytest.approx(2.0)
    assert x.chance_within(1.0) == pytest.approx(0.75, abs=0.005)


def test_data_takes_longer_than_its_mean_bandwidth_says() -> None:
    rng = np.random.default_rng(6)
    bandwidth = rng.uniform(20, 180, MILLION)
    taken = transfer(1000, from_samples(bandwidth))
    near(taken, 1000 / bandwidth)
    assert taken.mean > 1000 / bandwidth.mean()


def test_a_bandwidth_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="transfers nothing"):
        transfer(1.0, constant(0.0))


@pytest.mark.parametrize("seed", range(40))
def test_bounds_decide_as_the_whole_comparison_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = from_samples(rng.normal(rng.uniform(0, 10), rng.uniform(0.1, 4), 400))
    y = from_samples(rng.normal(rng.uniform(0, 10), rng.uniform(0.1, 4), 400))
    by_pairs = float(
        (np.sign(np.subtract.outer(x.points, y.points)) / 2 + 0.5)
        @ histogram.WEIGHTS @ histogram.WEIGHTS
    )  # fmt: skip
    assert chance_more(x, y) == pytest.approx(by_pairs, abs=1e-9)
    assert is_more(x, y) == (by_pairs > 0.5)


def test_like_distributions_are_near_and_others_far() -> None:
    rng = np.random.default_rng(7)
    x, alike = (from_samples(rng.normal(10, 1, 20_000)) for _ in range(2))
    other, far = (from_samples(rng.normal(mean, 1, 20_000)) for mean in (11, 100))
    assert bhattacharyya(x, alike) < 0.01 < bhattacharyya(x, other)
    assert bhattacharyya(x, other) == pytest.approx(1 / 8, rel=0.15)  # (Δμ)²/8σ² for normal ones
    assert bhattacharyya(x, far) > 2


def test_the_same_numbers_draw_the_same_values() -> None:
    x = from_samples([1.0, 2.0, 4.0])
    numbers = np.random.default_rng(8).random(100)
    assert np.array_equal(x.at(numbers), x.draw(100, np.random.default_rng(8)))
    assert x.at(numbers).mean() == pytest.approx(x.mean, rel=0.2)
