"""At the end of paid time: who is paid on, who is told to stop and with what reason."""

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, free, offering, only, sent, settings

from bats.common.messages import MachineId
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cause, Charged, Gone, Silent, Woken
from bats.master.brain.protocol.settings import Sampling

ONE = MachineId(1)
TEN_MINUTES = ((10 * MINUTE,) * 30,)


def why(commands: list[do.Command]) -> dict[int, str]:
    return {stop.machine: stop.reason for stop in only(do.StopMachine, commands)}


def renewed(commands: list[do.Command]) -> list[int]:
    return [lease.machine for lease in only(do.RenewLease, commands)]


def test_money_for_one_more_hour_goes_to_the_machine_that_does_most_for_it() -> None:
    kinds = (offering("dear", 4, machines=1), offering("cheap", 3, machines=1))
    bench = Bench(settings(100, *kinds, budget=11, sampling=Sampling.NONE))
    bench.begin()
    bench.join(1, 0)
    bench.join(2, 0)
    out = bench(Woken(), HOUR)
    assert renewed(out) == [2]
    assert why(out) == {1: "the budget does not cover its next ATU"}


def test_a_machine_with_nothing_to_do_leaves_when_its_paid_time_ends_and_not_before() -> None:
    known = ((50 * MINUTE,) * 30,)
    bench = Bench(settings(2, offering(machines=2), budget=60, known=known, tail="none"))
    bench.begin()
    (task,) = sent(bench.join(1, 0))
    bench.join(2, 0)
    assert why(bench.done(1, task, at=20 * MINUTE)) == {}
    assert why(bench(Woken(), 50 * MINUTE)) == {}
    assert why(bench(Woken(), HOUR)) == {1: "idle at the end of its paid time"}


@pytest.mark.parametrize("atu", [MINUTE, HOUR])
def test_a_machine_that_is_charged_and_does_not_join_is_given_up(atu: float) -> None:
    """After its first ATU, but not before ten minutes: where they are short they are no measure."""
    bench = Bench(settings(90, offering(machines=1, atu=atu), budget=3000, known=TEN_MINUTES))
    bench.begin()
    bench(Charged(ONE, 0), 0)
    patience = max(atu, 10 * MINUTE)
    at = atu
    while not (stopped := why(bench(Woken(), at))):
        at += atu
    assert stopped == {1: "did not join within its first ATU"}
    assert patience <= at <= 2 * patience


def test_a_machine_that_nobody_hears_of_is_not_paid_on() -> None:
    bench = Bench(settings(90, offering(machines=1), budget=300, known=TEN_MINUTES))
    bench.begin()
    bench.join(1, 0)
    assert why(bench(Silent(ONE), HOUR / 2)) == {}
    out = bench(Woken(), HOUR)
    assert why(out) == {1: "not heard of; its next ATU is not paid"}
    assert renewed(out) == []


def test_a_free_machine_that_nobody_hears_of_is_stopped_at_once() -> None:
    bench = Bench(settings(90, free()))
    bench.begin()
    bench.join(1, 0)
    assert why(bench(Silent(ONE), 10)) == {1: "not heard of"}


def test_while_tasks_wait_and_money_is_there_a_machine_goes_on() -> None:
    bench = Bench(settings(90, offering(machines=1), budget=300, known=TEN_MINUTES))
    bench.begin()
    bench.join(1, 0)
    for hour in (1, 2, 3):
        assert renewed(bench(Woken(), hour * HOUR)) == [1]


def test_when_nothing_is_left_to_run_anywhere_the_bag_ends_with_what_the_rest_would_take() -> None:
    bench = Bench(settings(90, offering(machines=1), budget=3, known=TEN_MINUTES))
    bench.begin()
    bench.join(1, 0)
    out = bench(Woken(), HOUR)
    assert why(out) == {1: "the budget does not cover its next ATU"}
    (end,) = only(do.EndBag, bench(Gone(ONE, HOUR, Cause.STOPPED), HOUR))
    assert end.outcome is do.BagOutcome.OUT_OF_BUDGET
    assert "choose a budget of" in end.words


def test_a_bag_whose_machines_were_all_lost_buys_others_instead_of_ending() -> None:
    bench = Bench(settings(90, offering(machines=1), budget=300, known=TEN_MINUTES))
    bench.begin()
    bench.join(1, 0)
    out = bench(Gone(ONE, 60, Cause.FAILED), 60)
    assert [start.machines for start in only(do.StartMachines, out)] == [(2,)]
    assert only(do.EndBag, out) == []
