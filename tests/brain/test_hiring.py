"""Machines are asked for with their money reserved, and cost what they were up when they go."""

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, free, offering, only, settings

from bats.common.messages import MachineId
from bats.common.money import money
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Allotted, Cause, Charged, Gone, SetAside, Woken

ONE = MachineId(1)
TEN_MINUTES = ((10 * MINUTE,) * 30,)


def started(commands: list[do.Command]) -> list[int]:
    return [machine for start in only(do.StartMachines, commands) for machine in start.machines]


def stopped(commands: list[do.Command]) -> list[int]:
    return [stop.machine for stop in only(do.StopMachine, commands)]


def test_no_more_machines_are_asked_for_than_the_first_hour_of_each_is_paid() -> None:
    bench = Bench(settings(100, offering(price=3, machines=10), budget=10, known=TEN_MINUTES))
    assert len(started(bench.begin())) == 3
    assert bench.run.ledger.reserved == money(9)


@pytest.mark.parametrize(("up", "cost"), [(5, 3), (60, 3), (61, 6), (121, 9)])
def test_a_machine_that_is_gone_has_cost_every_hour_it_entered(up: float, cost: int) -> None:
    bench = Bench(settings(900, offering(price=3, machines=1), budget=2000, known=TEN_MINUTES))
    bench.begin()
    bench.join(1, 0)
    for hour in range(1, int(up // 60) + 1):
        bench(Woken(), hour * HOUR)
    bench(Gone(ONE, up * MINUTE, Cause.PREEMPTED), up * MINUTE)
    assert bench.run.ledger.settled == money(cost)


def test_a_machine_that_was_never_charged_costs_nothing_and_its_money_is_free_again() -> None:
    bench = Bench(settings(100, offering(price=3, machines=1), budget=10, known=TEN_MINUTES))
    bench.begin()
    assert bench.run.ledger.reserved == money(3)
    bench(Gone(ONE, 5, Cause.FAILED, "no room"), 5)
    assert bench.run.ledger.settled == 0
    assert bench.run.ledger.reserved == money(3), "another one is asked for in its place"
    assert started(bench(Gone(MachineId(2), 6, Cause.FAILED), 6)) == [3]


def test_a_machine_that_comes_when_it_was_called_off_is_paid_whatever_its_provider_says() -> None:
    bench = Bench(settings(100, offering(price=3, machines=2), budget=200, known=TEN_MINUTES))
    bench.begin()
    bench.join(2, 10)
    assert stopped(bench(SetAside(0, "no more of it"), 20)) == [ONE]
    assert stopped(bench.join(ONE, 30)) == [ONE]
    bench(Gone(ONE, 90, Cause.STOPPED), 90)
    assert bench.run.ledger.settled == money(3)


def test_an_offering_that_is_set_aside_loses_those_on_their_way_and_keeps_those_that_work() -> None:
    bench = Bench(settings(100, offering(machines=4), budget=200, known=TEN_MINUTES))
    assert started(bench.begin()) == [1, 2, 3, 4]
    bench.join(1, 60)
    bench.join(2, 60)
    assert stopped(bench(SetAside(0, "no more of it"), 90)) == [3, 4]
    assert stopped(bench(SetAside(0, "told twice"), 91)) == []
    assert bench.run.pool.machines[ONE].staying


def test_no_machine_of_an_offering_that_is_set_aside_is_asked_for_again() -> None:
    kinds = (offering("gone", machines=2), offering("here", machines=2))
    bench = Bench(settings(900, *kinds, budget=2000, known=TEN_MINUTES * 2))
    assert len(started(bench.begin())) == 4
    bench(SetAside(0, "no more of it"), 10)
    for machine in (1, 2):
        bench(Gone(MachineId(machine), 20, Cause.STOPPED), 20)
    out = bench(Gone(MachineId(3), 30, Cause.FAILED), 30)
    assert [start.cluster for start in only(do.StartMachines, out)] == [1]


def test_machines_that_cost_nothing_and_did_not_start_are_tried_again_when_a_cap_leaves_more() -> (
    None
):
    kinds = (free(), offering("paid", price=3, machines=1))
    bench = Bench(settings(100, *kinds, budget=2000, known=TEN_MINUTES * 2))
    bench(Allotted(money(3), "$3 a day"))
    bench.begin()
    for turn in range(4):
        for machine in list(bench.run.pool.living[0]):
            bench(Gone(machine, turn, Cause.FAILED, "did not start"), turn)
    assert bench.run.clusters[0].set_aside
    (paid,) = bench.run.pool.living[1]
    bench(Charged(paid, 5), 5)
    bench(Gone(paid, 60, Cause.FAILED, "broke"), 60)
    assert bench.run.waits_for_cap
    out = bench(Allotted(money(20), "$3 a day"), 86_400)
    assert [start.cluster for start in only(do.StartMachines, out)] == [0, 1]


def test_a_machine_that_costs_nothing_has_a_lease_that_is_renewed_at_its_half() -> None:
    bench = Bench(settings(9, free()))
    bench.begin()
    (lease,) = only(do.RenewLease, bench.join(1, 0))
    assert lease.until == 900
    assert only(do.RenewLease, bench(Woken(), 449)) == []
    (lease,) = only(do.RenewLease, bench(Woken(), 450))
    assert lease.until == 450 + 900


def test_a_lease_never_reaches_beyond_what_is_reserved() -> None:
    bench = Bench(settings(900, offering(price=3, machines=1), budget=9, known=TEN_MINUTES))
    bench.begin()
    leases = only(do.RenewLease, bench.join(1, 100))
    for hour in (1, 2, 3):
        leases += only(do.RenewLease, bench(Woken(), 100 + hour * HOUR))
    paid = [100 + hours * HOUR for hours in (1, 2, 3)]
    assert [lease.until for lease in leases] == paid, "the budget has no fourth"


def test_the_bill_that_began_before_a_machine_joined_counts_from_its_beginning() -> None:
    bench = Bench(settings(900, offering(machines=1), budget=2000, known=TEN_MINUTES))
    bench.begin()
    bench(Charged(ONE, 100), 130)
    assert only(do.RenewLease, bench.join(1, 400)) == []
    (lease,) = only(do.RenewLease, bench(Woken(), 100 + HOUR))
    assert lease.until == 100 + 2 * HOUR
