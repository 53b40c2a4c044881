"""What runs is an investment: machines are held to its end, and it is begun with money for it."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.workbench import HOUR, MINUTE, Bench, offering, only, sent, settings

from bats.common.billing import first_atus
from bats.common.money import money
from bats.master.brain.books.machine import Machine
from bats.master.brain.books.phase import Phase
from bats.master.brain.planning.timetable import Residual
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Chosen, Woken
from bats.master.brain.views import investments
from bats.master.simulate.driver import Conditions, History, Simulation

SECOND = 1.0


def one_kind(tasks: int, seconds: float, budget: str, *, machines: int = 3) -> History:
    """A cent a second."""
    kind = offering(price="0.01", atu=SECOND, machines=machines)
    limits = replace(settings(tasks, kind), budget=money(budget))
    return Simulation(limits, lambda _task, _cluster: seconds).run()


def test_money_for_half_of_the_bag_does_half_of_the_bag_and_stops_nothing() -> None:
    history = one_kind(10, 100.0, "5.50")
    assert history.end is not None
    assert history.end.outcome is BagOutcome.OUT_OF_BUDGET
    assert len(history.records) == 5
    assert sum(until - since for _, since, until in history.uptimes.values()) < 5 * 100 + 10


def test_machines_of_short_atus_are_held_to_the_ends_of_tasks_and_leave_with_them() -> None:
    history = one_kind(9, 100.0, "9.60")
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE
    assert {round(until - since) % 100 for _, since, until in history.uptimes.values()} <= {0, 1}


@pytest.mark.parametrize(("atu", "held"), [(HOUR, False), (MINUTE, True), (SECOND, True)])
def test_a_machine_is_paid_on_where_that_costs_no_more_than_running_its_task_anew(
    atu: float, held: bool
) -> None:
    """The last of four tasks of 19 minutes runs since a minute when an hour is over."""
    bench = Bench(settings(4, offering(price=3, machines=1, atu=atu), budget=100_000))
    bench.begin()
    task = sent(bench.join(1, 0))[-1]
    for _ in range(3):
        (task,) = sent(bench.done(1, task, at=bench.now + 19 * MINUTE))
    machine = only_machine(bench)
    machine.atus = int(HOUR / atu)
    bench.run.now = HOUR
    assert investments.worth_holding(bench.run, machine) is held


def only_machine(bench: Bench) -> Machine:
    (machine,) = bench.run.pool.machines.values()
    return machine


def test_a_task_of_six_hours_goes_on_while_its_user_is_asked() -> None:
    """Two kinds, the fast one done with its sample; what runs on the slow one is not stopped."""
    slow, fast = offering("slow", "0.01", atu=SECOND), offering("fast", "0.01", atu=SECOND)
    asked: list[float] = []

    def answer(schedules: object, now: float) -> None:
        asked.append(now)

    limits = settings(8, slow, fast, rule="ask")
    speeds = (1.0, 6.0)
    simulation = Simulation(
        limits, lambda _task, k: 6 * HOUR / speeds[k], Conditions(answers=answer)
    )
    history = simulation.run(until=40 * HOUR)
    assert asked
    stopped = [
        command
        for commands in history.commands
        for command in commands
        if isinstance(command, do.KillTask)
    ]
    assert not stopped
    assert simulation.engine.run.phase is Phase.CHOOSING
    assert not simulation.engine.run.pool.alive()
    simulation.tell(Chosen("cheapest"), simulation.engine.run.now + 1)
    history = simulation.go_on()
    assert history.end is not None
    assert history.end.outcome is BagOutcome.COMPLETE


def test_money_is_reserved_to_the_expected_end_of_a_task_when_it_is_begun() -> None:
    kind = offering(price="0.01", atu=SECOND, machines=1)
    bench = Bench(replace(settings(50, kind), budget=money(60)))
    bench.begin()
    tasks = sent(bench.join(1, 0))
    while bench.run.phase is not Phase.EXECUTING:
        tasks += sent(bench.done(1, tasks[-1], at=bench.now + 100))
        while not tasks or bench.run.pool.machines[1].load == 0:
            bench(Woken(), bench.now + 1)
    machine = only_machine(bench)
    ahead = machine.paid_until(bench.now) - bench.now
    assert 100 <= ahead <= 110
    assert bench.run.ledger.reserved == pytest.approx(money("0.01") * (bench.now + ahead), rel=0.01)


def test_a_lease_is_reserved_whatever_the_atu() -> None:
    short = replace(offering(atu=SECOND), lease_seconds=60.0, boundary_seconds=3.0)
    assert first_atus(short) == 63
    assert first_atus(replace(offering(), lease_seconds=60.0)) == 1
    assert first_atus(offering(atu=SECOND)) == 1
    started = only(do.StartMachines, Bench(settings(5, short, budget=500)).begin())
    assert started


@pytest.mark.parametrize("x", [0.0, 10.0, 55.0, 120.0, 400.0])
def test_what_still_runs_outlasts_by_as_much_as_drawing_it_says(x: float) -> None:
    runtimes = np.random.default_rng(1).lognormal(4, 0.8, 500)
    rng = np.random.default_rng(2)
    of = rng.choice(runtimes, 400_000, p=runtimes / runtimes.sum())
    beyond = np.maximum(of * rng.random(of.size) - x, 0)
    mean, square = Residual(runtimes.tolist()).excess(x)
    assert mean == pytest.approx(beyond.mean(), rel=0.03)
    assert square == pytest.approx((beyond**2).mean(), rel=0.06)
