"""One function says what an uptime costs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common.billing import atus, atus_to_work, charge, paid_uptime, paid_work
from bats.common.money import NOTHING, money
from bats.common.offering import ClusterName, Offering

HOURLY = Offering(ClusterName("m1"), money(3), atu_seconds=3600, max_machines=32)
PER_SECOND = Offering(
    ClusterName("c5"), money("0.0001"), atu_seconds=1, max_machines=4, minimum_seconds=60
)


@pytest.mark.parametrize(
    ("uptime", "hours"), [(0, 1), (1, 1), (3599, 1), (3600, 1), (3600.01, 2), (7200, 2), (7201, 3)]
)
def test_an_atu_is_paid_when_it_is_entered_and_a_boundary_enters_nothing(
    uptime: float, hours: int
) -> None:
    assert charge(HOURLY, uptime) == hours * money(3)


def test_a_machine_that_must_stop_before_the_boundary_works_so_much_less() -> None:
    offering = replace(HOURLY, boundary_seconds=120)
    assert [atus_to_work(offering, seconds) for seconds in (1, 3480, 3481, 7080)] == [1, 1, 2, 2]
    assert paid_work(offering, 2) == 7080


def test_a_minimum_charge_is_paid_by_a_machine_that_stops_at_once() -> None:
    assert charge(PER_SECOND, 2) == money("0.006")
    assert charge(PER_SECOND, 61) == money("0.0061")


def test_a_free_machine_costs_nothing_however_long() -> None:
    free = Offering(ClusterName("desk"), NOTHING, atu_seconds=3600, max_machines=2)
    assert charge(free, 1e6) == NOTHING


@given(
    st.integers(1, 100_000),
    st.floats(0.01, 1e5, allow_nan=False),
)
def test_the_uptime_that_k_atus_pay_for_costs_k_atus(k: int, atu: float) -> None:
    offering = Offering(ClusterName("any"), money(1), atu_seconds=atu, max_machines=1)
    assert atus(offering, paid_uptime(offering, k)) == k


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_longer_never_costs_less(a: float, b: float) -> None:
    assert charge(HOURLY, min(a, b)) <= charge(HOURLY, max(a, b))
