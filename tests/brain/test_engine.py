"""The engine's rules, one story each: events and the time go in, commands come out."""

import msgpack
import pytest
from helpers.workbench import HOUR, MINUTE, Bench, free, offering, only, sent, settings

from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import money
from bats.master.brain.books.machine import MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import (
    Announced,
    Cancelled,
    Cause,
    Charged,
    Chosen,
    Ended,
    Ending,
    Event,
    Found,
    Gone,
    Hampered,
    Joined,
    LeftOut,
    Retried,
    Returned,
    SetAside,
    Silent,
    Woken,
)
from bats.master.brain.protocol.journal import CODES, code_of, event_from, plain
from bats.master.brain.rules.machines.hiring import START_FAILURES


def test_free_machines_are_asked_for_at_once_and_no_sample_is_needed() -> None:
    bench = Bench(settings(10, free(machines=2)))
    (start,) = only(do.StartMachines, bench.begin())
    assert start.machines == (1, 2)
    assert bench.run.phase is Phase.EXECUTING


def test_a_machine_that_joins_gets_a_task_for_every_slot() -> None:
    bench = Bench(settings(10, free(slots=3)))
    bench.begin()
    assert len(set(sent(bench.join(1, slots=3)))) == 3


def test_tasks_are_drawn_at_random_and_the_seed_decides() -> None:
    def order(seed: int) -> list[int]:
        bench = Bench(settings(20, free(), seed=seed, replicate=False))
        bench.begin()
        tasks = sent(bench.join(1))
        while not bench.run.outcome:
            tasks += sent(bench.done(1, tasks[-1], at=bench.now + 1))
        return tasks

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(1)) == list(range(20)) != order(1)


def test_the_first_result_of_a_task_is_recorded_and_a_second_is_not() -> None:
    bench = Bench(settings(3, free()))
    bench.begin()
    (task,) = sent(bench.join(1))
    (record,) = only(do.Record, bench.done(1, task, at=5))
    assert [e.task for e in record.endings] == [task]
    again = bench(Ended(MachineId(1), (Ending(TaskId(task), 1, Outcome.DONE, 5.0),)), 6)
    assert only(do.Record, again) == []


def test_only_what_a_machine_was_given_was_ordered_and_is_taken_up() -> None:
    bench = Bench(settings(4, offering(machines=2), budget=100))
    bench.begin()
    (mine,) = sent(bench.join(1, 3.0))
    (others,) = sent(bench.join(2))
    waiting = next(task for task in range(4) if task not in (mine, others))
    ordered = bench.engine.ordered_at
    assert ordered(MachineId(1), TaskId(mine), 1) == 3.0
    for machine, task, attempt in ((1, others, 1), (1, waiting, 1), (1, mine, 2), (9, mine, 1)):
        assert ordered(MachineId(machine), TaskId(task), attempt) is None
    bench(Silent(MachineId(1)), 50)
    assert ordered(MachineId(1), TaskId(mine), 1) == 3.0
    back = bench(Joined(MachineId(1), 1, ((TaskId(mine), 1), (TaskId(waiting), 1))), 70)
    assert only(do.KillTask, back) == [do.KillTask(MachineId(1), TaskId(waiting), 1)]
    bench.done(1, mine, at=80)
    assert ordered(MachineId(1), TaskId(mine), 1) is None


def test_a_task_whose_machine_dies_goes_to_the_next_machine() -> None:
    bench = Bench(settings(1, free(machines=2)))
    bench.begin()
    assert sent(bench.join(1)) == [0]
    lost = bench(Gone(MachineId(1), 61, Cause.FAILED, "power cut"), 61)
    assert sent(lost) == []
    assert sent(bench.join(2, 90)) == [0]


def test_a_silent_machine_loses_its_tasks_and_a_late_result_still_counts() -> None:
    bench = Bench(settings(2, free(machines=2)))
    bench.begin()
    (task,) = sent(bench.join(1))
    bench(Silent(MachineId(1)), 50)
    assert bench.run.tasks.states[task] == TaskState.WAITING
    (record,) = only(do.Record, bench.done(1, task, at=60))
    assert record.endings[0].task == task
    assert bench.run.tasks.states[task] == TaskState.DONE


def test_a_machine_that_comes_back_keeps_the_tasks_it_still_holds() -> None:
    bench = Bench(settings(2, offering(machines=1), budget=100))
    bench.begin()
    (task,) = sent(bench.join(1))
    bench(Silent(MachineId(1)), 50)
    back = bench(Joined(MachineId(1), 1, ((TaskId(task), 1),)), 70)
    assert only(do.KillTask, back) == []
    assert bench.run.tasks.states[task] == TaskState.RUNNING


def test_a_task_that_came_back_done_elsewhere_is_killed() -> None:
    bench = Bench(settings(2, offering(machines=2), budget=100))
    bench.begin()
    (task,) = sent(bench.join(1))
    bench(Silent(MachineId(1)), 50)
    others = sent(bench.join(2, 51))
    while task not in others:
        others += sent(bench.done(2, others[-1], at=bench.now + 1))
    bench.done(2, task, 2, at=bench.now + 1)
    back = bench(Joined(MachineId(1), 1, ((TaskId(task), 1),)), 70)
    assert only(do.KillTask, back) == [do.KillTask(MachineId(1), TaskId(task), 1)]


def test_a_failed_task_is_tried_again_and_given_up_after_its_retries() -> None:
    bench = Bench(settings(1, free(), retries=1))
    bench.begin()
    assert sent(bench.join(1)) == [0]
    assert sent(bench.end(1, 0, Outcome.FAILED, 1, at=3)) == [0]
    last = bench.end(1, 0, Outcome.FAILED, 2, at=6)
    assert [r.endings[0].outcome for r in only(do.Record, last)] == [Outcome.FAILED]
    (end,) = only(do.EndBag, last)
    assert end.outcome is do.BagOutcome.WITH_FAILURES


def test_losing_a_machine_is_not_a_failure_of_the_task() -> None:
    bench = Bench(settings(1, free(machines=1), retries=0))
    bench.begin()
    bench.join(1)
    bench(Gone(MachineId(1), 10, Cause.PREEMPTED), 10)
    bench(Woken(), 100)
    assert sent(bench.join(2, 101)) == [0]
    assert bench.run.tasks.failures == {}


def test_a_task_that_breaks_machine_after_machine_is_given_up() -> None:
    bench = Bench(settings(1, free(machines=1), losses=2))
    bench.begin()
    for machine in (1, 2, 3):
        if machine not in bench.run.pool.machines:
            bench(Woken(), bench.now + HOUR)
        assert sent(bench.join(machine)) == [0]
        bench(Gone(MachineId(machine), bench.now + 5, Cause.FAILED), bench.now + 5)
    assert bench.run.tasks.states[0] == TaskState.FAILED
    assert bench.run.outcome is do.BagOutcome.WITH_FAILURES


def test_tasks_given_back_unstarted_go_to_others() -> None:
    bench = Bench(settings(1000, free(machines=2)))
    bench.begin()
    tasks = sent(bench.join(1))
    queued: list[int] = []
    while not queued:
        queued = sent(bench.done(1, tasks[0], at=bench.now + 0.001))[1:]
        tasks = list(bench.run.pool.machines[MachineId(1)].active)
    bench(Returned(MachineId(1), tuple(map(TaskId, queued))))
    assert all(bench.run.tasks.states[t] == TaskState.WAITING for t in queued[:1])
    assert bench.run.pool.machines[MachineId(1)].load == 1


def test_long_tasks_are_never_queued_behind_one_another() -> None:
    bench = Bench(settings(100, free()))
    bench.begin()
    (task,) = sent(bench.join(1))
    for _ in range(5):
        (task,) = sent(bench.done(1, task, at=bench.now + 10))


def test_the_next_atu_is_reserved_before_it_is_entered_and_never_beyond_the_budget() -> None:
    bench = Bench(settings(50, offering(machines=1), budget=6))
    bench.begin()
    assert bench.run.ledger.reserved == money(3)
    tasks = sent(bench.join(1, 0))
    stopped: list[do.StopMachine] = []
    while not stopped:
        out = bench.done(1, tasks[-1], at=bench.now + 20 * MINUTE)
        tasks += sent(out)
        stopped = only(do.StopMachine, out)
        assert bench.run.ledger.committed <= money(6)
    assert bench.now == 2 * HOUR


def test_the_bill_runs_from_when_the_provider_charges() -> None:
    bench = Bench(settings(5, offering(machines=1), budget=100))
    bench.begin()
    bench(Charged(MachineId(1), 100.0), 130)
    bench.join(1, 400)
    assert bench.run.pool.machines[MachineId(1)].paid_until(400) == 100 + HOUR


def test_a_machine_that_joins_before_its_provider_speaks_is_billed_from_when_that_says() -> None:
    bench = Bench(settings(5, offering(machines=1), budget=100))
    bench.begin()
    bench.join(1, 400)
    out = bench(Charged(MachineId(1), 100.0), 430)
    assert bench.run.pool.machines[MachineId(1)].paid_until(430) == 100 + HOUR
    assert [lease.machine for lease in only(do.RenewLease, out)] == [1]


def test_a_bag_that_is_done_stops_its_machines_and_closes_when_they_are_gone() -> None:
    bench = Bench(settings(1, free()))
    bench.begin()
    bench.join(1)
    done = bench.done(1, 0, at=9)
    assert only(do.EndBag, done)[0].outcome is do.BagOutcome.COMPLETE
    assert [s.machine for s in only(do.StopMachine, done)] == [1]
    assert not bench.engine.over
    bench(Gone(MachineId(1), 10, Cause.STOPPED), 10)
    assert bench.engine.over


def test_a_cancelled_bag_kills_what_runs_and_stops_its_machines() -> None:
    bench = Bench(settings(5, free()))
    bench.begin()
    (task,) = sent(bench.join(1))
    out = bench(Cancelled("the user asked"), 3)
    assert only(do.KillTask, out) == [do.KillTask(MachineId(1), TaskId(task), 1)]
    assert only(do.StopMachine, out)
    assert bench.run.outcome is do.BagOutcome.CANCELLED


def test_a_machine_announced_to_be_taken_away_finishes_what_it_runs_and_gets_no_more() -> None:
    bench = Bench(settings(20, free(machines=2)))
    bench.begin()
    (first,) = sent(bench.join(1))
    out = bench(Announced(MachineId(1), "the provider needs it"), 3)
    assert not sent(out)
    assert not only(do.StopMachine, out)
    out = bench.done(1, first, at=4)
    assert not sent(out)
    assert only(do.StopMachine, out) == [do.StopMachine(MachineId(1), "the provider needs it")]
    out = bench(Gone(MachineId(1), 5, Cause.PREEMPTED, "the provider needs it"), 5)
    assert [m.id for m in bench.run.pool.alive()] == [2, 3]


def lost(budget: int) -> tuple[Bench, MachineId]:
    """A bag at work whose first machine, charged since 0, is held to be gone after half an hour."""
    bench = Bench(settings(50, offering(machines=2), budget=budget, rule="fastest"))
    bench.begin()
    first = next(iter(bench.run.pool.machines))
    bench(Charged(first, 0.0), 0)
    bench.join(first, 1)
    bench(Gone(first, 0.5 * HOUR, Cause.FAILED, "lost"), 0.5 * HOUR)
    return bench, first


def test_a_machine_held_to_be_gone_that_lives_is_paid_for_from_then_on() -> None:
    bench, first = lost(budget=100)
    price = bench.run.pool.machines[first].offering.price
    before = bench.run.ledger.committed
    bench(Found(first, unpaid_since=HOUR), 2.5 * HOUR)  # an ATU is paid, the next two are owed
    assert bench.run.ledger.committed == before + 2 * price
    assert bench.run.pool.machines[first].state is MachineState.SILENT
    assert sent(bench.join(first, 2.6 * HOUR))
    bench(Gone(first, 2.9 * HOUR, Cause.FAILED, "lost again"), 2.9 * HOUR)
    assert bench.run.ledger.settled == 3 * price


def test_a_machine_that_lives_and_cannot_be_paid_for_is_stopped() -> None:
    bench, first = lost(budget=100)
    bench.run.ledger.limit = bench.run.ledger.committed
    out = bench(Found(first, unpaid_since=HOUR), 2.5 * HOUR)
    assert [stop.machine for stop in only(do.StopMachine, out)] == [first]
    assert first not in {machine.id for machine in bench.run.pool.alive()}


@pytest.mark.parametrize(
    "event",
    [
        Announced(MachineId(3), "so they say"),
        Found(MachineId(3), 7.5),
        Found(MachineId(3), None),
        Hampered("the disk is full"),
    ],
)
def test_what_becomes_of_machines_is_read_back_from_the_journal(event: Event) -> None:
    assert event_from(plain(event)) == event
    assert code_of(msgpack.packb(plain(event))) == CODES[type(event)]


def test_machines_that_never_start_have_their_offering_set_aside_with_the_reason() -> None:
    bench = Bench(settings(50, free(machines=3), offering("spot", machines=3), budget=100))
    bench.begin()
    spots = [m.id for m in bench.run.pool.living[1].values()]
    for machine in spots:
        bench(Gone(machine, 5, Cause.FAILED, "no capacity in zone a"), 5)
    assert bench.run.clusters[1].set_aside == "no capacity in zone a"


def test_machines_whose_leases_end_before_they_join_are_not_bought_for_ever() -> None:
    bench = Bench(settings(50, offering("far", machines=3), budget=100))
    bench.begin()
    rounds = 0
    while bench.run.pool.alive():
        assert not bench.run.clusters[0].set_aside, "a master that is away loses all at once"
        rounds += 1
        for machine in [m.id for m in bench.run.pool.alive()]:
            bench(Charged(machine, bench.now), bench.now)
            bench(Gone(machine, bench.now + 60, Cause.EXPIRED, "too late"), bench.now + 60)
    assert rounds == START_FAILURES
    assert bench.run.clusters[0].set_aside == "too late"


def test_with_every_offering_set_aside_the_bag_ends_and_says_why() -> None:
    bench = Bench(settings(5, offering("spot"), budget=100))
    bench.begin()
    bench(SetAside(0, "credentials were refused"), 1)
    for machine in list(bench.run.pool.machines):
        out = bench(Gone(machine, 2, Cause.STOPPED), 2)
    (end,) = only(do.EndBag, out)
    assert end.outcome is do.BagOutcome.NO_MACHINES
    assert "credentials were refused" in end.words


def test_a_user_who_is_asked_gets_schedules_and_machines_wait_for_no_answer_unpaid() -> None:
    bench = Bench(settings(200, offering(machines=8), rule="ask"))
    bench.begin()
    for machine in list(bench.run.pool.machines):
        bench.join(machine, 0)
    out: list[do.Command] = []
    while bench.run.phase is Phase.SAMPLING:
        at = bench.now + 10 * MINUTE
        for m in list(bench.run.pool.machines.values()):
            for task in list(m.active):
                out += bench.done(m.id, task, m.active[task].attempt, at=at)
    assert only(do.Offer, out)
    bench(Woken(), HOUR)
    assert all(not m.staying for m in bench.run.pool.alive())
    for machine in list(bench.run.pool.alive()):
        bench(Gone(machine.id, HOUR, Cause.STOPPED), HOUR)
    assert bench.run.phase is Phase.CHOOSING
    spent = bench.run.ledger.committed
    bench(Chosen("cheapest"), 50 * HOUR)
    assert bench.run.phase is Phase.EXECUTING
    assert only(do.StartMachines, bench(Woken(), 50 * HOUR)) == [] or bench.run.pool.alive()
    assert bench.run.ledger.limit is not None
    assert bench.run.ledger.limit > spent


def test_a_bag_that_ran_out_of_money_goes_on_when_it_gets_more() -> None:
    bench = Bench(settings(40, offering(machines=1), budget=3))
    bench.begin()
    tasks = sent(bench.join(1, 0))
    while bench.now < HOUR - 20 * MINUTE:
        tasks = sent(bench.done(1, tasks[-1], at=bench.now + 19 * MINUTE)) or tasks
    bench(Woken(), HOUR)
    (end,) = only(do.EndBag, bench(Gone(MachineId(1), HOUR, Cause.STOPPED), HOUR))
    assert end.outcome is do.BagOutcome.OUT_OF_BUDGET
    assert "choose a budget of" in end.words
    assert bench.engine.over
    done = bench.run.tasks.done
    started = only(do.StartMachines, bench(Chosen("fastest", money(300)), 2 * HOUR))
    assert started
    assert bench.run.tasks.done == done
    assert bench.run.tasks.waiting == 40 - done


def test_failed_tasks_can_be_tried_again_after_the_end() -> None:
    bench = Bench(settings(2, free(), retries=0))
    bench.begin()
    (task,) = sent(bench.join(1))
    (other,) = sent(bench.end(1, task, Outcome.FAILED, at=1))
    bench.done(1, other, at=2)
    bench(Gone(MachineId(1), 3, Cause.STOPPED), 3)
    assert bench.engine.over
    bench(Retried((TaskId(task),)), 10)
    machine = max(bench.run.pool.machines)
    assert sent(bench.join(machine, 11)) == [task]


def test_a_task_tried_again_before_its_machine_is_gone_runs_again_when_it_is() -> None:
    bench = Bench(settings(1, free()))
    bench.begin()
    bench.join(1)
    bench(Cancelled("cancelled by the user"), 1)
    bench(Retried((TaskId(0),)), 2)
    assert bench.engine.task(TaskId(0)).state is TaskState.RUNNING
    bench(Gone(MachineId(1), 3, Cause.STOPPED), 3)
    bench(Woken(), 60)
    machine = max(bench.run.pool.machines)
    assert sent(bench.join(machine, 61)) == [0]
    bench.done(machine, 0, attempt=2, at=62)
    assert bench.run.outcome is do.BagOutcome.COMPLETE


@pytest.mark.parametrize("outcome", [Outcome.KILLED, Outcome.DONE])
def test_a_task_wanted_again_before_it_was_stopped_ends_as_its_attempt_does_or_runs_again(
    outcome: Outcome,
) -> None:
    bench = Bench(settings(2, free(machines=2)))
    bench.begin()
    (task,) = sent(bench.join(1))
    bench(LeftOut((TaskId(task),)), 1)
    bench(Retried((TaskId(task),)), 2)
    again = sent(bench.end(1, task, outcome, at=3))
    assert (task in again) == (outcome is Outcome.KILLED)
    assert bench.run.tasks.done == (outcome is Outcome.DONE)


def test_an_attempt_whose_order_was_forgotten_is_stopped_and_its_number_not_given_again() -> None:
    """A master that was killed had sent it, and had not kept that."""
    bench = Bench(settings(1, free(machines=2)))
    bench.begin()
    out = bench(Joined(MachineId(1), 1, ((TaskId(0), 1),)))
    assert only(do.KillTask, out) == [do.KillTask(MachineId(1), TaskId(0), 1)]
    (run,) = only(do.RunTasks, out)
    assert run.orders == ((0, 2),)
    assert bench.engine.was_sent(TaskId(0), 1), "its machine has not made it up"


@pytest.mark.parametrize(("task", "attempt"), [(0, 60_000), (10**6, 1), (0, -1)])
def test_what_a_machine_says_that_it_holds_changes_no_number_beyond_reason(
    task: int, attempt: int
) -> None:
    bench = Bench(settings(1, free()))
    bench.begin()
    out = bench(Joined(MachineId(1), 1, ((TaskId(task), attempt),)))
    assert only(do.RunTasks, out)[0].orders == ((0, 1),)
    assert not bench.engine.was_sent(TaskId(task), attempt)


def test_the_check_itself_notices_a_task_that_no_machine_runs() -> None:
    bench = Bench(settings(3, free()))
    bench.begin()
    bench.run.tasks.states[0] = TaskState.RUNNING
    with pytest.raises(BrokenInvariantError):
        bench.engine.check()


def test_the_check_itself_notices_money_that_is_not_there() -> None:
    bench = Bench(settings(3, offering(), budget=20))
    bench.begin()
    bench.run.ledger.limit = money(1)
    with pytest.raises(BrokenInvariantError):
        bench.engine.check()


def test_without_a_budget_and_without_a_schedule_nothing_more_can_be_spent() -> None:
    bench = Bench(settings(100, offering(machines=8), rule="ask", known=(tuple([HOUR] * 30),)))
    bench.begin()
    bench(Chosen("a name that no schedule has"))
    assert bench.run.ledger.limit == bench.run.ledger.committed == 0


def test_a_bag_that_was_cancelled_before_its_sample_was_complete_goes_on_with_it() -> None:
    bench = Bench(settings(60, offering("a"), offering("b"), budget=100))
    bench.begin()
    bench.join(1, 0)
    bench(Cancelled("cancelled by the user"), 60)
    for machine in list(bench.run.pool.alive()):
        bench(Gone(machine.id, 70, Cause.STOPPED), 70)
    again = bench(Retried((TaskId(3), TaskId(4))), 100)
    assert len(only(do.StartMachines, again)) == 2
    assert not only(do.EndBag, again)
