"""What a task left is fetched before it is done; till then its machine stays."""

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, free, offering, only, sent, settings

from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import money
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cause, Collecting, Gone, Joined, Silent, Woken
from bats.master.brain.protocol.journal import event_from, plain
from bats.master.simulate.driver import Conditions, Simulation

ONE = MachineId(1)
TEN_MINUTES = ((10 * MINUTE,) * 30,)


def paid(tasks: int = 1, machines: int = 1, **more: object) -> Bench:
    """A bag on machines at 3 an hour, the first of which is there."""
    bench = Bench(
        settings(tasks, offering(machines=machines), budget=100, known=TEN_MINUTES, **more)
    )
    bench.begin()
    bench.join(1, 0)
    return bench


def collect(bench: Bench, machine: int, task: int, at: float) -> list[do.Command]:
    return bench(Collecting(MachineId(machine), ((TaskId(task), 1),)), at)


def stopped(commands: list[do.Command]) -> list[int]:
    return [stop.machine for stop in only(do.StopMachine, commands)]


def state(bench: Bench, task: int) -> int:
    return bench.run.tasks.states[task]


def test_a_task_whose_files_are_on_their_way_is_not_done_and_its_bag_does_not_end() -> None:
    bench = paid()
    commands = collect(bench, 1, 0, 10 * MINUTE)
    assert state(bench, 0) == TaskState.RUNNING
    assert not stopped(commands)
    assert not only(do.EndBag, commands)
    commands = bench.done(1, 0, at=12 * MINUTE)
    assert state(bench, 0) == TaskState.DONE
    assert only(do.EndBag, commands)
    assert stopped(commands) == [1]


def test_the_slot_is_free_for_the_next_task_meanwhile() -> None:
    bench = paid(tasks=2)
    (first,) = bench.run.pool.machines[ONE].active
    commands = collect(bench, 1, first, 10 * MINUTE)
    assert sent(commands) == [1 - first]


def test_a_machine_is_paid_on_while_what_was_left_on_it_comes() -> None:
    bench = paid()
    collect(bench, 1, 0, 10 * MINUTE)
    commands = bench(Woken(), HOUR)
    assert not stopped(commands)
    assert bench.run.ledger.reserved == money(6)
    assert stopped(bench.done(1, 0, at=HOUR + MINUTE)) == [1]


def test_a_machine_that_was_idle_beside_it_is_looked_at_again_when_all_has_come() -> None:
    bench = paid(tasks=2)
    (first,) = bench.run.pool.machines[ONE].active
    collect(bench, 1, first, 10 * MINUTE)
    collect(bench, 1, 1 - first, 20 * MINUTE)
    bench.done(1, first, at=30 * MINUTE)
    assert stopped(bench.done(1, 1 - first, at=31 * MINUTE)) == [1]


def test_what_is_lost_with_its_machine_is_run_again() -> None:
    bench = paid(tasks=1, machines=2)
    collect(bench, 1, 0, 10 * MINUTE)
    bench(Gone(ONE, 11 * MINUTE, Cause.PREEMPTED, "taken"), 11 * MINUTE)
    assert state(bench, 0) == TaskState.WAITING
    (another,) = (m.id for m in bench.run.pool.alive())
    assert sent(bench.join(another, 12 * MINUTE)) == [0]


def test_a_task_whose_files_are_lost_time_and_again_is_given_up_and_that_is_said() -> None:
    bench = Bench(settings(1, free(machines=1), losses=2))
    bench.begin()
    for machine in (1, 2, 3):
        bench.join(machine, machine * 10)
        (attempt,) = bench.run.tasks.running[TaskId(0)]
        bench(Collecting(MachineId(machine), ((TaskId(0), attempt.attempt),)))
        commands = bench(
            Gone(MachineId(machine), machine * 10 + 5, Cause.STOPPED), machine * 10 + 5
        )
    assert state(bench, 0) == TaskState.FAILED
    (record,) = only(do.Record, commands)
    assert "files" in record.endings[0].why
    assert bench.engine.headline().outcome is do.BagOutcome.WITH_FAILURES


def test_files_that_cannot_be_had_are_a_failure_which_is_tried_again() -> None:
    bench = paid()
    collect(bench, 1, 0, 10 * MINUTE)
    commands = bench.end(1, 0, Outcome.FAILED, at=11 * MINUTE)
    assert sent(commands) == [0]


def test_no_copy_is_run_of_a_task_whose_files_are_coming() -> None:
    bench = Bench(settings(2, free(machines=2)))
    bench.begin()
    bench.join(1, 0)
    bench.join(2, 0)
    (first,) = bench.run.pool.machines[ONE].active
    bench.done(2, 1 - first, at=5)
    collect(bench, 1, first, 6)
    assert sent(bench(Woken(), 100)) == []


def test_it_counts_no_more_among_those_that_run_at_a_time() -> None:
    bench = Bench(settings(2, free(machines=1, slots=2), at_once=1))
    bench.begin()
    (first,) = sent(bench.join(1, 0, slots=2))
    assert sent(collect(bench, 1, first, 5)) == [1 - first]


def test_told_twice_or_of_what_was_never_given_it_changes_nothing() -> None:
    bench = paid(tasks=2)
    (first,) = bench.run.pool.machines[ONE].active
    collect(bench, 1, first, 5)
    before = plain_books(bench)
    collect(bench, 1, first, 6)
    bench(Collecting(ONE, ((TaskId(first), 9),)), 7)
    bench(Collecting(MachineId(77), ((TaskId(first), 1),)), 8)
    assert plain_books(bench) == before


def plain_books(bench: Bench) -> tuple[object, ...]:
    machine = bench.run.pool.machines[ONE]
    return list(machine.active), list(machine.collecting), list(bench.run.tasks.states)


def test_a_worker_that_comes_back_with_it_still_has_it_and_one_without_it_has_lost_it() -> None:
    bench = paid()
    collect(bench, 1, 0, 10 * MINUTE)
    bench(Joined(ONE, 1, ((TaskId(0), 1),)), 11 * MINUTE)
    assert list(bench.run.pool.machines[ONE].collecting) == [0]
    assert sent(bench(Joined(ONE, 1, ()), 12 * MINUTE)) == [0]


def test_the_files_of_a_silent_machine_may_still_come() -> None:
    bench = paid()
    collect(bench, 1, 0, 10 * MINUTE)
    bench(Silent(ONE), 11 * MINUTE)
    assert state(bench, 0) == TaskState.WAITING
    bench(Joined(ONE, 1, ((TaskId(0), 1),)), 12 * MINUTE)
    collect(bench, 1, 0, 12 * MINUTE)
    bench.done(1, 0, at=13 * MINUTE)
    assert state(bench, 0) == TaskState.DONE


def test_a_free_machine_of_a_paused_bag_stays_till_all_has_come() -> None:
    bench = Bench(settings(9, free(), max_failures=1, retries=0))
    bench.begin()
    (first,) = sent(bench.join(1, 0))
    (second,) = sent(collect(bench, 1, first, 5))
    assert not stopped(bench.end(1, second, Outcome.FAILED, at=6))
    assert bench.run.pause is not None
    assert stopped(bench.done(1, first, at=8)) == [1]


def test_it_is_read_back_from_the_journal() -> None:
    told = Collecting(ONE, ((TaskId(3), 2), (TaskId(4), 1)))
    assert event_from(plain(told)) == told


@pytest.mark.parametrize("atu", [1.0, 60.0, 3600.0])
def test_in_virtual_time_files_that_take_long_cost_time_and_money_and_lose_nothing(
    atu: float,
) -> None:
    def run(collect_seconds: float) -> tuple[int, float]:
        conditions = Conditions(collect_seconds=collect_seconds)
        made = Simulation(
            settings(30, offering(machines=3, atu=atu, price="0.01"), budget=5000),
            lambda _task, _cluster: 20.0,
            conditions,
            after_event=lambda engine: engine.check(),
        )
        ended_at = made.run().ended_at
        assert ended_at is not None
        return made.engine.headline().counts[TaskState.DONE], ended_at

    assert [run(seconds)[0] for seconds in (0.0, 7.0, 90.0)] == [30] * 3
    assert run(90.0)[1] > run(0.0)[1] + 80.0
