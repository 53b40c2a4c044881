"""Pools as their file says they are."""

from dataclasses import replace

import pytest

from bats.common.capacity.pool_rules import Pool
from bats.common.money import money
from bats.common.offering import ClusterName, Offering

SMALL = Offering(ClusterName("small"), money("0.1"), 60.0, 10, slots=1)
LARGE = replace(SMALL, name=ClusterName("large"), max_machines=2, slots=8)


@pytest.mark.parametrize(
    ("most", "places"), [(0, 0), (1, 8), (2, 16), (5, 2 * 8 + 3), (12, 26), (99, 26)]
)
def test_a_mixed_pool_has_places_for_as_many_tasks_as_its_kinds_have_machines(
    most: int, places: int
) -> None:
    assert Pool("lab", (SMALL, LARGE), most).most_places == places
