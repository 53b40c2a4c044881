"""A machine has one number; those that version 0.1.0 gave twice are told apart."""

from hypothesis import given
from hypothesis import strategies as st

from bats.common.messages import BagId, MachineId
from bats.common.offering import within_block
from bats.master.brain.protocol import numbering
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.numbering import BEFORE_BY_HAND, before_first

bags = st.integers(1, 10_000).map(BagId)
counts = st.integers(1, 499_999)


@given(bags, counts)
def test_a_number_says_whose_machine_it_is(bag: BagId, count: int):
    machine = MachineId(before_first(bag) + count)
    assert numbering.bag_of(machine) == bag
    assert not numbering.by_hand(machine)
    assert within_block(machine) == count
    by_hand = MachineId(BEFORE_BY_HAND + count)
    assert numbering.by_hand(by_hand)
    assert numbering.bag_of(by_hand) == 0
    assert within_block(by_hand) == count


@given(bags, counts)
def test_todays_numbers_are_the_same_wherever_they_are_read(bag: BagId, count: int):
    for machine in (MachineId(before_first(bag) + count), MachineId(BEFORE_BY_HAND + count)):
        assert numbering.from_journal(machine, bag) == machine
        assert numbering.from_table(machine) == machine


@given(bags, counts)
def test_what_was_counted_from_one_is_a_bags_machine_in_a_journal_and_by_hand_in_a_table(
    bag: BagId, count: int
):
    low = MachineId(count)
    assert numbering.from_journal(low, bag) == before_first(bag) + count
    assert numbering.from_table(low) == BEFORE_BY_HAND + count
    assert numbering.in_old_tables(numbering.from_table(low)) == low
    for written in ([1, count, 2.5], [3, count], [6, count, [4]], [13, count, None]):
        read = event_from(written, bag)
        assert getattr(read, "machine", None) == before_first(bag) + count
        assert getattr(event_from(written), "machine", None) == count
