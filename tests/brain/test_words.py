"""What is said of a decision is what it is for, and what is said of a wait is why."""

from helpers.workbench import MINUTE, Bench, free, offering, settings

from bats.common.messages import MachineId
from bats.master.brain.books.machine import MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.protocol.events import Silent, Woken
from bats.master.brain.rules import pausing
from bats.master.brain.rules.machines.carrying_out import what_for
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.told.view import view
from bats.master.brain.views.told.waits import why_wait


def ahead(tasks: int) -> Outlook:
    return Outlook(tasks, 0, 0.0, 0.0)


def test_a_purchase_says_which_tasks_it_is_for() -> None:
    bench = Bench(settings(5, free(slots=3)))
    bench.begin()
    bench.join(1, slots=3)
    assert what_for(bench.run, ahead(7)) == "7 tasks"
    assert what_for(bench.run, ahead(1)) == "1 task"
    assert what_for(bench.run, ahead(0)) == "the last 3 tasks that run"


def bag(tasks: int = 100, **more: object) -> Bench:
    """One whose runtimes are known, before its first machine has come."""
    kinds = (offering("slow", machines=2), offering("fast", machines=1))
    bench = Bench(settings(tasks, *kinds, known=((600.0,) * 30, (300.0,) * 30), **more))
    bench.begin()
    return bench


def test_a_task_waits_for_machines_that_are_on_their_way() -> None:
    bench = bag(budget=100)
    bench(Woken(), 42)
    asked = len(bench.run.pool.machines)
    assert asked == 3
    words = why_wait(bench.run)
    assert words == "no machine is there yet; asked for 42 s ago: 2 slow + 1 fast"


def test_a_task_waits_for_a_slot() -> None:
    bench = bag(budget=100)
    for machine in list(bench.run.pool.machines):
        bench.join(machine)
    assert why_wait(bench.run) == "every slot is taken, of 2 slow + 1 fast"


def test_a_task_waits_for_its_users_choice() -> None:
    bench = bag(rule="ask")
    assert bench.run.phase is Phase.CHOOSING
    words = why_wait(bench.run)
    assert words == "nobody has chosen a schedule yet, and no machine is paid for until then"


def test_a_task_waits_because_no_more_may_run_at_a_time() -> None:
    bench = Bench(settings(9, free(slots=4), at_once=3))
    bench.begin()
    bench.join(1, slots=4)
    assert why_wait(bench.run) == "no more than 3 tasks may run at a time"


def test_a_task_waits_because_the_money_left_does_not_cover_it() -> None:
    kinds = offering("slow", machines=1)
    bench = Bench(settings(100, kinds, known=((25 * MINUTE,) * 30,), budget=3))
    bench.begin()
    bench.join(1)
    for at in (25 * MINUTE, 50 * MINUTE):
        (task,) = bench.run.pool.machines[MachineId(1)].active
        bench.done(1, task, at=at)
    assert why_wait(bench.run) == "the money left does not cover another task on 1 slow"


def test_a_task_waits_because_nothing_is_heard_of_the_machines() -> None:
    bench = bag(budget=100)
    for machine in list(bench.run.pool.machines):
        bench.join(machine)
    for machine in list(bench.run.pool.machines):
        bench(Silent(machine))
    replaced = [m for m in bench.run.pool.alive() if m.state is MachineState.REQUESTED]
    assert not replaced
    assert why_wait(bench.run) == "nothing is heard of 2 slow + 1 fast"


def test_a_paused_bags_tasks_wait_for_the_reason_that_it_is_paused() -> None:
    bench = bag(budget=100)
    pausing.pause(bench.run, "somebody said so")
    assert why_wait(bench.run) == "the bag is paused: somebody said so"


def test_what_has_ended_in_the_sample_is_known_while_it_goes_on() -> None:
    bench = Bench(settings(200, offering("slow", machines=2), rule="ask"))
    bench.begin()
    for machine in list(bench.run.pool.machines):
        bench.join(machine)
    (cluster,) = view(bench.run, bench.now).clusters
    assert (cluster.known, cluster.planned) == (0, cluster.machines)
    (task,) = bench.run.pool.machines[MachineId(1)].active
    bench.done(1, task, at=60)
    assert bench.run.phase is Phase.SAMPLING
    (cluster,) = view(bench.run, bench.now).clusters
    assert (cluster.known, cluster.mean_seconds) == (1, 60.0)


def test_a_deadline_is_missed_when_its_time_has_passed_even_for_a_bag_that_costs_nothing() -> None:
    bench = Bench(settings(1, free(), deadline_seconds=100.0))
    bench.begin()
    bench.join(1)
    seen = view(bench.run, 50)
    assert (seen.deadline_at, seen.deadline_missed) == (100.0, False)
    assert view(bench.run, 101).deadline_missed
    bench.done(1, 0, at=130)
    assert view(bench.run, 131).deadline_missed
