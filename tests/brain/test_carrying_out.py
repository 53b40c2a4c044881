"""From the machines that are there to those of the plan: who comes, who leaves and when."""

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, offering, only, settings

from bats.common.messages import MachineId
from bats.common.money import NOTHING
from bats.master.brain.books.machine import Machine
from bats.master.brain.planning.timetable import Group, Timetable
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cause, Chosen, Gone, Woken
from bats.master.brain.rules.machines import carrying_out
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.prospects import Ahead

WAYS = {"by the timetable": 1.0, "as in the paper": 0.0}
TEN_MINUTES = ((10 * MINUTE,) * 30,)


def stopped(commands: list[do.Command]) -> dict[int, str]:
    return {stop.machine: stop.reason for stop in only(do.StopMachine, commands)}


def started(commands: list[do.Command]) -> list[int]:
    return [machine for start in only(do.StartMachines, commands) for machine in start.machines]


def ten(way: str) -> Bench:
    """A hundred tasks, to be done as soon as they can be: ten machines, of which three are up."""
    bench = Bench(
        settings(100, offering(machines=10), budget=200, known=TEN_MINUTES, prudence=WAYS[way])
    )
    assert len(started(bench.begin())) == 10
    for machine in (1, 2, 3):
        bench.join(machine, 0)
    return bench


def end(bench: Bench, machines: dict[int, str], at: float) -> None:
    for machine in machines:
        bench(Gone(MachineId(machine), at, Cause.STOPPED), at)


def staying(bench: Bench) -> list[Machine]:
    return [machine for machine in bench.run.pool.alive() if machine.staying]


@pytest.mark.parametrize("way", WAYS)
def test_of_machines_that_are_too_many_those_that_cost_nothing_yet_are_called_off(way: str) -> None:
    """Time until the next day needs fewer machines; those that work have been paid for."""
    bench = ten(way)
    out = bench(Chosen("fastest", deadline_seconds=30 * HOUR), 60)
    called_off = stopped(out)
    assert called_off
    assert set(called_off.values()) == {"not needed any more"}
    assert called_off.keys().isdisjoint({1, 2, 3})
    assert any("schedule chosen" in said.words for said in only(do.Decided, out))


@pytest.mark.parametrize("way", WAYS)
def test_a_plan_that_needs_more_machines_asks_for_those_that_are_missing(way: str) -> None:
    bench = ten(way)
    called_off = stopped(bench(Chosen("fastest", deadline_seconds=30 * HOUR), 60))
    end(bench, called_off, 70)
    assert len(staying(bench)) == 10 - len(called_off)
    out = bench(Chosen("fastest", deadline_seconds=3 * HOUR), 120)
    assert len(started(out)) == len(called_off)
    assert started(out)[0] == 11


def all_up(bench: Bench) -> None:
    for machine in range(4, 11):
        bench.join(machine, 0)


def test_machines_that_are_up_leave_when_their_paid_time_ends() -> None:
    bench = ten("as in the paper")
    all_up(bench)
    assert stopped(bench(Chosen("fastest", deadline_seconds=30 * HOUR), 60)) == {}
    leaving = [machine.id for machine in bench.run.pool.alive() if machine.leaving]
    assert leaving
    for minutes in range(10, 60, 10):
        for machine in range(1, 11):
            (task,) = bench.run.pool.machines[MachineId(machine)].active
            assert stopped(bench.done(machine, task, at=minutes * MINUTE)) == {}
    out = bench(Woken(), HOUR)
    assert stopped(out) == dict.fromkeys(leaving, "not in the mix any more")


def test_a_machine_that_was_to_leave_stays_before_another_one_is_asked_for() -> None:
    """It has started already."""
    bench = ten("as in the paper")
    all_up(bench)
    bench(Chosen("fastest", deadline_seconds=30 * HOUR), 60)
    assert len(staying(bench)) < 10
    assert started(bench(Chosen("fastest", deadline_seconds=45 * MINUTE), 120)) == []
    assert len(staying(bench)) == 10


def test_a_plan_that_may_ask_for_no_more_leaves_what_was_asked_for_this_moment() -> None:
    bench = Bench(settings(100, offering(), budget=100))
    bench.begin()
    asked = bench.run.pool.staying(0)
    assert asked
    none_more = Group(0, bench.run.clusters[0].offering, 0, 60.0, 0.0, 0.0, 1, fresh=True)
    ahead = Ahead(Timetable(60.0, NOTHING, ()), [(none_more, [])], 0.0, 0.0)
    carrying_out.follow(bench.run, ahead, Outlook(100, 0, 0.0, 0.0), "")
    assert bench.run.pool.staying(0) == asked
