"""The search for an assignment, held against all there are."""

import itertools
import random

import pytest

from bats.master.brain.probability.assignment import Choice, a_star, breadth_first

Stages = list[list[Choice[int]]]


def by_chance(seed: int, stages: int, choices: int) -> Stages:
    chance = random.Random(seed)
    return [
        [Choice(chance.uniform(1, 9), chance.uniform(1, 9), k) for k in range(choices)]
        for _ in range(stages)
    ]


def best_of_all(stages: Stages, limit: float) -> float | None:
    sums = (
        (sum(one.value for one in way), sum(one.weight for one in way))
        for way in itertools.product(*stages)
    )
    return min((value for value, weight in sums if weight <= limit), default=None)


@pytest.mark.parametrize("seed", range(30))
def test_both_searches_find_the_best_of_all_assignments(seed: int) -> None:
    stages = by_chance(seed, 5, 4)
    for limit in (4.0, 12.0, 18.0, 25.0, 60.0):
        best = best_of_all(stages, limit)
        for search in (a_star, breadth_first):
            found = search(stages, limit)
            if best is None:
                assert found is None
            else:
                assert found is not None
                assert sum(one.value for one in found) == pytest.approx(best)
                assert sum(one.weight for one in found) <= limit * (1 + 1e-9)
                assert [one in stage for one, stage in zip(found, stages, strict=True)]


def test_forty_stages_are_searched_to_the_same_end_by_both() -> None:
    stages = by_chance(7, 40, 6)
    first, other = a_star(stages, 120.0), breadth_first(stages, 120.0)
    assert first is not None
    assert other is not None
    assert sum(one.value for one in first) == pytest.approx(sum(one.value for one in other))


def test_no_stages_at_all_need_nothing() -> None:
    assert a_star([], 0.0) == breadth_first([], 0.0) == ()


def test_a_stage_that_weighs_nothing_costs_nothing_of_the_limit() -> None:
    stages: Stages = [[Choice(0.0, 0.0, 0)], [Choice(5.0, 1.0, 0), Choice(1.0, 3.0, 1)]]
    found = a_star(stages, 3.0)
    assert found is not None
    assert [one.means for one in found] == [0, 1]
