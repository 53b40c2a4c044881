"""How the processors and the links of machines differ, by what workers report."""

import pytest

from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.learning.machine_speeds import by_mean
from bats.master.brain.protocol.settings import Settings
from bats.master.service.bags.earlier_bags import processors
from bats.master.service.transfer_times import MOST_COMING, MOST_MACHINES, TransferTimes

ONE, TWO = MachineId(1), MachineId(2)


def test_an_input_is_on_its_way_from_when_it_is_first_wanted() -> None:
    times = TransferTimes()
    times.wanted(ONE, "a", 10.0)
    times.wanted(ONE, "a", 11.0)  # its second piece
    times.wanted(TWO, "a", 11.0)
    times.came(ONE, "a", 4_000_000, 12.0)
    times.came(TWO, "a", 4_000_000, 19.0)
    times.came(TWO, "never wanted", 9_000_000, 20.0)
    assert times.into.known([ONE, TWO]) == {ONE: 0.5, TWO: 2.0}
    assert times.out_of.known([ONE, TWO]) == {}


def test_little_data_tells_nothing_of_a_link() -> None:
    times = TransferTimes()
    times.left(ONE, 600_000, 1.0)
    assert times.out_of.known([ONE]) == {}
    times.left(ONE, 400_000, 1.0)
    assert times.out_of.known([ONE]) == {ONE: 2.0}


def test_what_was_told_is_not_told_again_and_what_was_not_is_kept_for_another_bag() -> None:
    times, three = TransferTimes(), [ONE, TWO, MachineId(3)]
    for machine in three:
        times.left(machine, 1_000_000, float(machine))
    assert times.out_of.told([ONE, TWO]) == ()  # two machines tell nothing
    assert times.out_of.told(three) == (0.5, 1.0, 1.5)
    assert times.out_of.told(three) == ()


def test_inputs_on_their_way_are_remembered_however_many_never_come() -> None:
    times = TransferTimes()
    for k in range(MOST_COMING + 5):
        times.wanted(ONE, f"never comes {k}", 1.0)
    times.wanted(TWO, "a", 10.0)
    for k in range(MOST_COMING - 5):
        times.wanted(ONE, f"nor does {k}", 11.0)
    times.came(TWO, "a", 4_000_000, 12.0)
    assert times.into.known([TWO]) == {TWO: 0.5}


def test_machines_that_moved_nothing_for_long_are_forgotten_first() -> None:
    times = TransferTimes()
    for k in (1, 2, 1, *range(3, MOST_MACHINES + 2)):
        times.left(MachineId(k), 1_000_000, 1.0)
    known = times.out_of.known(MachineId(k) for k in range(1, MOST_MACHINES + 2))
    assert len(known) == MOST_MACHINES
    assert ONE in known
    assert TWO not in known


def test_links_are_told_against_the_mean_of_three_at_least() -> None:
    assert by_mean([3.0, 1.0]) == ()
    assert by_mean([3.0, 1.0, 2.0]) == (0.5, 1.0, 1.5)


def result(task: int, machine: int, busy: float, wall: float) -> Result:
    return Result(
        BagId(1), TaskId(task), 1, Outcome.DONE, 0, wall, busy, 0.0, 0, 0, "", 0,
        machine=MachineId(machine), cluster="one",
    )  # fmt: skip


def test_processors_are_told_by_processor_time_and_not_by_what_tasks_wait_for() -> None:
    offering = Offering(ClusterName("one"), money("0.1"), 60.0, 5)
    settings = Settings(60, (offering,))
    slow = (0.8, 1.0, 1.2)
    found = [result(k, k % 3, busy=10 * slow[k % 3], wall=30.0 + k % 7) for k in range(60)]
    assert processors(settings, found)[0] == pytest.approx(slow, rel=0.02)
    asleep = [one._replace(user_seconds=0.01 * one.user_seconds) for one in found]
    assert processors(settings, asleep) == [()]
