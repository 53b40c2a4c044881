"""NTDM_r in the engine: stories in virtual time, and the estimator beside it."""

from statistics import fmean

import pytest
from helpers.spot import Spot
from helpers.workbench import Bench, only, sent, settings

from bats.common.messages import MachineId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import replay
from bats.master.brain.protocol.commands import KillTask, StartMachines, StopMachine
from bats.master.brain.protocol.events import Cause, Gone, Woken
from bats.master.brain.unreliable.estimator import estimate
from bats.master.brain.unreliable.notation import read

HOUR = 3600.0
SPOT = Offering(ClusterName("spot"), money(1), HOUR, 3, reliable=False)
SURE = Offering(ClusterName("sure"), money(30), HOUR, 3)


def bench(tasks: int, strategy: str) -> Bench:
    """Machines 1 to 3 are unreliable and there; each runs a task."""
    it = Bench(settings(tasks, SPOT, SURE, tail="ntdmr", strategy=strategy))
    it.begin()
    for machine in (1, 2, 3):
        it.join(machine)
    return it


def test_reliable_machines_are_not_bought_before_the_tail_and_then_as_few_as_are_due():
    it = Bench(settings(4, SPOT, SURE, tail="ntdmr", strategy="N=0 T=50 D=1000 M_r=0.3"))
    assert only(StartMachines, it.begin()) == [StartMachines(0, (1, 2, 3))]  # type: ignore[arg-type]
    for machine in (1, 2, 3):
        it.join(machine)
    first = next(iter(it.run.pool.machines[MachineId(1)].active))
    assert not only(StartMachines, it.done(1, first, at=100.0))
    second = next(iter(it.run.pool.machines[MachineId(2)].active))
    commands = it.done(2, second, at=120.0)  # two are left: the tail, and both are due
    assert it.run.instances.tail_at == 120.0
    assert only(StartMachines, commands) == [StartMachines(1, (MachineId(4),))]


def test_a_copy_follows_after_its_time_and_the_first_result_cancels_it():
    it = Bench(settings(2, SPOT, SURE, tail="ntdmr", strategy="N=1 T=50 D=1000 M_r=0"))
    it.begin()
    for machine in (1, 2):
        it.join(machine)
    assert it.run.instances.tail_at == 0.0  # fewer tasks than machines from the beginning
    assert not only(StartMachines, it(Woken(), 49.0))
    assert only(StartMachines, it(Woken(), 50.0)) == [StartMachines(0, (MachineId(3),))]
    (copied,) = sent(it.join(3, at=55.0))
    first = it.run.tasks.running[copied][0].machine  # type: ignore[index]
    killed = only(KillTask, it.done(first, copied, at=60.0))
    assert [(k.machine, k.task) for k in killed] == [(3, copied)]


def test_what_does_not_return_by_its_deadline_is_told_to_end_and_then_its_machine_is_replaced():
    it = bench(3, "N=5 T=100 D=200 M_r=0")
    for at in range(100, 201, 50):
        it(Woken(), float(at))
    task = next(iter(it.run.pool.machines[MachineId(1)].active))
    it.done(1, task, at=201.0)
    late = only(KillTask, it(Woken(), 450.0))
    assert late
    commands = it(Woken(), 481.0)
    stopped = only(StopMachine, commands)
    assert {s.machine for s in stopped} == {k.machine for k in late}
    gone = it(Gone(stopped[0].machine, 481.0, Cause.STOPPED), 481.0)
    assert only(StartMachines, gone)


def test_a_machine_that_is_taken_away_is_replaced_at_once_and_its_task_is_sent_again():
    it = bench(9, "N=1 T=100 D=200 M_r=0.3")
    task = next(iter(it.run.pool.machines[MachineId(2)].active))
    commands = it(Gone(MachineId(2), 30.0, Cause.PREEMPTED), 30.0)
    assert only(StartMachines, commands) == [StartMachines(0, (MachineId(4),))]
    assert it.run.tasks.losses == {}  # nobody holds the task to be the cause
    assert task in it.run.tasks.pooled()


@pytest.mark.parametrize("loss", [{"silent": 0.3}, {"hazard_per_hour": 1.0}, {"silent": 1.0}])
@pytest.mark.parametrize(
    "strategy", ["N=2 T=1x D=2x M_r=0.2", "AR", "TRR", "TR", "CN∞", "CN1T0", "B=200"]
)
def test_whatever_is_lost_the_bag_is_done_with_every_strategy(
    strategy: str, loss: dict[str, float]
):
    ran = Spot(tasks=30, machines=8, reliable=4, **loss).run(strategy)  # type: ignore[arg-type]
    assert ran.complete, ran.history.end


def test_unreliable_machines_alone_do_it_in_the_end():
    assert Spot(tasks=30, machines=8, reliable=0, silent=0.3).run("AUR").complete


@pytest.mark.parametrize("budget", ["20", "60", "150"])
def test_no_budget_is_exceeded_whatever_is_lost(budget: str):
    for seed in range(3):
        spot = Spot(tasks=40, machines=10, silent=0.2, hazard_per_hour=0.5)
        ran = spot.run("N=1 T=1x D=2x M_r=0.5", budget=budget, seed=seed)
        assert ran.cost <= float(budget)


def test_a_pool_whose_machines_never_come_leaves_the_bag_to_the_reliable_one():
    it = Bench(settings(2, SPOT, SURE, tail="ntdmr", strategy="N=3 T=1x D=2x M_r=0.3"))
    it.begin()
    for machine in (1, 2):
        it(Gone(MachineId(machine), 10.0 * machine, Cause.FAILED, "no capacity"))
    started = []
    for machine in (3, 4):
        if machine in it.run.pool.machines:
            out = it(Gone(MachineId(machine), 50.0, Cause.FAILED, "no capacity"))
            started += [s for s in only(StartMachines, out) if s.cluster == 1]
    assert started


@pytest.mark.parametrize(
    "spot",
    [
        Spot(tasks=1, machines=5, silent=0.5),
        Spot(atu=1.0, price="0.001", dear="0.003", tasks=30, machines=10, hazard_per_hour=0.5),
        Spot(turnaround=(0.02, 0.03), sure=0.02, tasks=300, atu=1.0, price="0.001", dear="0.003"),
        Spot(turnaround=(20_000.0, 22_000.0), sure=20_000.0, tasks=30, hazard_per_hour=0.05),
    ],
    ids=["one task", "seconds", "20 ms", "six hours"],
)
def test_strange_bags_are_done(spot: Spot):
    assert spot.run("N=2 T=1x D=2x M_r=0.2").complete


def test_a_replay_of_the_journal_comes_to_the_same_books():
    ran = Spot(tasks=30, machines=8, silent=0.2).run("N=2 T=1x D=2x M_r=0.2")
    again = replay(Spot(tasks=30, machines=8).settings("N=2 T=1x D=2x M_r=0.2"), ran.history.events)
    assert again.view() == ran.simulation.engine.view()
    assert again.run.instances.sent() == ran.simulation.engine.run.instances.sent()


@pytest.mark.parametrize(
    ("spot", "strategy"),
    [
        (Spot(silent=0.17), "N=3 T=2000 D=4000 M_r=0.1"),
        (Spot(silent=0.1, hazard_per_hour=0.2, boot=120.0), "N=1 T=1000 D=3000 M_r=0.2"),
        (Spot(hazard_per_hour=0.4, boot=60.0, atu=1.0, price="0.001", dear="0.003"),
         "N=2 T=0 D=3000 M_r=0.3"),
    ],
)  # fmt: skip
def test_the_engine_comes_to_what_the_estimator_says(spot: Spot, strategy: str):
    (told,) = estimate(spot.world(), [read(strategy).strategy], 200)
    ran = [spot.run(strategy, seed=seed) for seed in range(9)]
    errors = 3 * told.seconds_spread / told.seconds / 3, 3 * told.cost_spread / told.cost / 3
    assert fmean(r.seconds for r in ran) == pytest.approx(told.seconds, rel=0.02 + errors[0])
    assert fmean(r.cost for r in ran) == pytest.approx(told.cost, rel=0.02 + errors[1])
