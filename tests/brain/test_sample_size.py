"""The sample is as large as the paper says, and small bags get one too."""

from itertools import pairwise

import pytest

from bats.master.brain.learning.sample_size import Z_AT, caveat, sample_size


@pytest.mark.parametrize(("N", "n"), [(1000, 30), (10**9, 31), (1, 1), (2, 2), (10, 8), (29, 16)])
def test_a_bag_of_so_many_tasks_is_sampled_with_so_many(N: int, n: int):
    assert sample_size(N) == n


def test_a_larger_bag_never_takes_a_smaller_sample_and_none_takes_more_than_an_endless_one():
    for z in Z_AT.values():
        sizes = [sample_size(N, z) for N in range(1, 3000)]
        assert all(a <= b for a, b in pairwise(sizes))
        assert sizes[-1] <= -(-(z**2) // (2 * 0.25**2))
        assert all(n <= N for N, n in enumerate(sizes, 1))


def test_the_default_sample_of_a_thousand_tasks_needs_no_caveat():
    assert caveat(sample_size(1000), 1000) is None


def test_a_small_sample_and_a_small_bag_are_said():
    assert "8 tasks" in (caveat(8, 10) or "")
    assert "30 of 100" in (caveat(30, 100) or "")


def test_an_empty_bag_has_no_sample():
    with pytest.raises(ValueError, match="at least one task"):
        sample_size(0)
