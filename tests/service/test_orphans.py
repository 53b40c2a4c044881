"""What a machine that was lost sight of has cost and will cost, whoever's books tell of it."""

from hypothesis import given
from hypothesis import strategies as st

from bats.common.billing import charge
from bats.common.messages import BagId, MachineId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.deploy.protocol import Orphan
from bats.master.service.machines.orphans import NOBODY, Handling, orphan_machine, unpaid_since
from bats.master.store.rows import MachineRow

RENTED = Offering(ClusterName("rented"), money(3), 600.0, 4)
seconds = st.integers(0, 20_000).map(float)


def row(charged: float | None, gone: float | None) -> MachineRow:
    return MachineRow(MachineId(1), BagId(1), "rented", "local", charged_since=charged, gone=gone)


@given(seconds, seconds, seconds)
def test_what_the_books_had_and_what_is_owed_since_are_the_whole_bill(
    began: float, lasted: float, unseen: float
) -> None:
    """The twin: one bill from beginning to end. None of its ATUs is paid twice or left out."""
    gone = began + lasted
    now = gone + unseen
    since = unpaid_since(RENTED, row(began, gone), now - began, now)
    assert began <= since <= now
    owed = charge(RENTED, now - since) if since < now else 0
    assert charge(RENTED, lasted) + owed == max(charge(RENTED, lasted), charge(RENTED, now - began))


@given(seconds, seconds)
def test_of_a_machine_that_no_books_held_charged_all_is_owed(charged: float, now: float) -> None:
    assert unpaid_since(RENTED, row(None, None), min(charged, now), now) == now - min(charged, now)


def test_a_machine_in_nobodys_books_is_told_with_its_price_so_far() -> None:
    found = orphan_machine(RENTED, Orphan(None, "rented", "host-9", 601.0), {})
    assert (found.lost, found.bag, found.cost) == (NOBODY, None, money(6))


def test_a_machine_of_a_bag_that_does_not_run_cannot_be_taken_back() -> None:
    found = orphan_machine(RENTED, Orphan(MachineId(7_000_002), "rented", "host-9", None), {})
    assert found.lost == "bag 7 does not run"
    assert found.cost == money(3), "its first ATU"


def test_only_what_no_bag_can_take_back_is_stopped_unless_all_is_to_be() -> None:
    lost = orphan_machine(RENTED, Orphan(None, "rented", "", None), {})
    assert [handling for handling in Handling if handling.stops(lost)] == [
        Handling.STOP,
        Handling.STOP_LOST,
    ]
