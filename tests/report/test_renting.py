"""A bill's parts add up to the bill, and spending over time ends at what was spent."""

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st

from bats.common.billing import charge
from bats.common.messages import MachineId
from bats.common.money import Money
from bats.common.offering import ClusterName, Offering
from bats.master.queries.chronicle import MachineTime
from bats.master.report.renting import Rented, Shares, divided, seconds_of, spending


def machine(price: int, atu: float, minimum: float, since: float, stayed: float) -> Rented:
    offering = Offering(ClusterName("m"), Money(price), atu, 5, 2, minimum_seconds=minimum)
    cost = charge(offering, stayed)
    return Rented(MachineId(1), offering, 2, 0.0, since, since + 1, since + stayed, True, "", cost)


machines = st.builds(
    machine,
    st.integers(0, 10**10),
    st.floats(0.5, 4000),
    st.floats(0, 9000),
    st.floats(0, 1e4),
    st.floats(1, 1e5),
)
amounts = st.integers(0, 10**12)


@given(st.integers(0, 10**15), st.builds(Shares, *[amounts] * 6))
def test_the_parts_of_a_bill_are_the_bill(cost: int, weights: Shares) -> None:
    parts = astuple(divided(Money(cost), weights))
    assert sum(parts) == cost
    assert min(parts) >= 0


@given(machines, st.lists(st.floats(0, 1e4), min_size=4, max_size=4))
def test_no_more_time_is_used_than_is_paid_for(one: Rented, used: list[float]) -> None:
    time = MachineTime()
    time.used = used
    parts = astuple(seconds_of(one, time))
    assert min(parts) >= 0
    assert one.since is not None
    capacity = 1000 * (one.paid_until - one.since) * one.slots
    assert abs(sum(parts) - capacity) <= 6


@given(st.lists(machines, max_size=5))
def test_spending_ends_at_the_sum_of_the_bills(found: list[Rented]) -> None:
    line = spending(found)
    assert (line[-1][1] if line else 0) == sum(one.cost for one in found)
    assert line == sorted(line)
    assert len(line) <= 401


def test_an_hour_is_spent_when_it_is_entered() -> None:
    one = machine(100, 60.0, 0.0, 10.0, 130.0)
    assert spending([one]) == [(10.0, 100), (70.0, 200), (130.0, 300)]
