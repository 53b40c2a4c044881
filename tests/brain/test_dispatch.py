"""Which task goes where: one for each slot, short ones ahead of time, what failed to those idle."""

import pytest
from helpers.workbench import MINUTE, Bench, free, offering, only, sent, settings

from bats.common.messages import MachineId, Outcome, TaskId
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cause, Ended, Ending, Gone, Joined, Returned

ONE = MachineId(1)


def all_done(bench: Bench, tasks: list[int], at: float, each: float) -> list[do.Command]:
    endings = tuple(Ending(TaskId(task), 1, Outcome.DONE, each) for task in tasks)
    return bench(Ended(ONE, endings), at)


def test_short_tasks_are_sent_ahead_so_that_a_machine_need_not_wait_for_its_master() -> None:
    """A tenth of a second's worth; before one has ended nobody knows that they are short."""
    bench = Bench(settings(10_000, free(slots=2)))
    bench.begin()
    first = sent(bench.join(1, 0, slots=2))
    assert len(first) == 2
    ahead = sent(all_done(bench, first, at=0.002, each=0.001))
    assert len(ahead) == 2 + 200
    assert bench.run.pool.machines[ONE].load == 2 + 200


def test_what_is_sent_ahead_is_filled_up_by_halves_and_not_one_by_one() -> None:
    bench = Bench(settings(10_000, free(slots=2)))
    bench.begin()
    first = sent(bench.join(1, 0, slots=2))
    tasks = sent(all_done(bench, first, at=0.002, each=0.001))
    assert sent(all_done(bench, tasks[:50], at=0.1, each=0.001)) == []
    assert len(sent(all_done(bench, tasks[50:103], at=0.2, each=0.001))) > 100


def test_the_last_tasks_are_not_sent_ahead_another_machine_may_be_free_sooner() -> None:
    bench = Bench(settings(12, free(), free("other"), tail="none"))
    bench.begin()
    first = sent(bench.join(1, 0))
    tasks = sent(all_done(bench, first, at=0.001, each=0.001))
    assert len(tasks) == 1 + 11 // 4, "a half of what each machine may hope for"
    while tasks:
        waiting = bench.run.tasks.waiting
        tasks = sent(all_done(bench, tasks, at=bench.now + 0.01, each=0.001))
        assert len(tasks) <= 1 + waiting // 4
    assert bench.run.outcome is do.BagOutcome.COMPLETE


def test_a_machine_that_gave_tasks_back_gets_no_more_ahead_until_one_has_ended() -> None:
    """It gives them back when what it runs turns out long: then short ones were an accident."""
    bench = Bench(settings(10_000, free()))
    bench.begin()
    first = sent(bench.join(1, 0))
    running, *queued = sent(all_done(bench, first, at=0.001, each=0.001))
    assert queued
    back = tuple(TaskId(task) for task in queued)
    assert sent(bench(Returned(ONE, back), 1)) == []
    assert len(sent(all_done(bench, [running], at=60, each=59.0))) == 1


def test_a_task_that_failed_is_tried_by_the_machine_that_is_idle() -> None:
    bench = Bench(settings(2, free(machines=2), tail="none", retries=1))
    bench.begin()
    (bad,) = sent(bench.join(1, 0))
    (good,) = sent(bench.join(2, 0))
    assert sent(bench.done(2, good, at=10)) == []
    out = bench.end(1, bad, Outcome.FAILED, at=20)
    assert sent(out) == [bad]
    assert only(do.Record, out) == []


def test_a_task_with_a_copy_is_not_given_up_when_one_of_them_fails() -> None:
    known = ((600.0,) * 20, (60.0,) * 20)
    bench = Bench(settings(2, free("slow"), free("fast"), known=known, retries=0))
    bench.begin()
    (slow,) = sent(bench.join(1, 0))
    (quick,) = sent(bench.join(2, 0))
    assert sent(bench.done(2, quick, at=60)) == [slow]
    assert only(do.Record, bench.end(1, slow, Outcome.FAILED, at=70)) == []
    (recorded,) = only(do.Record, bench.done(2, slow, attempt=2, at=120))
    assert recorded.endings[0].outcome is Outcome.DONE
    assert bench.run.outcome is do.BagOutcome.COMPLETE


def test_when_every_copy_has_failed_the_task_is_given_up() -> None:
    known = ((600.0,) * 20, (60.0,) * 20)
    bench = Bench(settings(2, free("slow"), free("fast"), known=known, retries=0))
    bench.begin()
    (slow,) = sent(bench.join(1, 0))
    (quick,) = sent(bench.join(2, 0))
    bench.done(2, quick, at=60)
    bench.end(1, slow, Outcome.FAILED, at=70)
    (recorded,) = only(do.Record, bench.end(2, slow, Outcome.FAILED, attempt=2, at=80))
    assert recorded.endings[0].outcome is Outcome.FAILED
    assert bench.run.outcome is do.BagOutcome.WITH_FAILURES


def test_a_second_result_of_a_task_is_counted_and_not_recorded() -> None:
    known = ((600.0,) * 20, (60.0,) * 20)
    bench = Bench(settings(3, free("slow"), free("fast"), known=known))
    bench.begin()
    (slow,) = sent(bench.join(1, 0))
    (quick,) = sent(bench.join(2, 0))
    (last,) = sent(bench.done(2, quick, at=60))
    assert sent(bench.done(2, last, at=120)) == [slow]
    (recorded,) = only(do.Record, bench.done(2, slow, 2, at=180))
    assert [ending.task for ending in recorded.endings] == [slow]
    assert only(do.Record, bench.done(1, slow, at=181)) == []
    assert bench.run.duplicates == 1


@pytest.mark.parametrize("ended", ["killed", "lost"])
def test_a_sample_task_that_did_not_end_is_run_again_on_the_same_kind(ended: str) -> None:
    bench = Bench(settings(200, offering("a"), offering("b"), budget=200, initial_workers=1))
    bench.begin()
    (task,) = sent(bench.join(1, 0))
    replicated = list(bench.run.sample.replicated)
    assert task in replicated
    if ended == "killed":
        again = sent(bench(Ended(ONE, (Ending(TaskId(task), 1, Outcome.KILLED, 5.0),)), 5))
    else:
        (start,) = only(do.StartMachines, bench(Gone(ONE, 5, Cause.FAILED), 5))
        assert start.cluster == 0
        again = sent(bench(Joined(start.machines[0], 1), 10))
    assert again == [task]


def test_in_the_papers_way_a_last_task_is_left_to_a_machine_that_can_end_it() -> None:
    """Machine 1 must go before the task would end; machine 2 has paid time for it."""
    known = ((25 * MINUTE,) * 10,)
    bench = Bench(settings(4, offering(machines=2), budget=6, known=known, prudence=0.0))
    bench.begin()
    first = sent(bench.join(1, 0))
    second = sent(bench.done(1, first[0], at=25 * MINUTE))
    elsewhere = sent(bench.join(2, 40 * MINUTE))
    assert sent(bench.done(1, second[0], at=50 * MINUTE)) == []
    assert bench.run.tasks.waiting == 1
    assert len(sent(bench.done(2, elsewhere[0], at=65 * MINUTE))) == 1


def test_in_the_papers_way_a_last_task_that_nobody_else_can_end_is_begun_all_the_same() -> None:
    known = ((25 * MINUTE,) * 10,)
    bench = Bench(settings(4, offering(machines=1), budget=3, known=known, prudence=0.0))
    bench.begin()
    first = sent(bench.join(1, 0))
    second = sent(bench.done(1, first[0], at=25 * MINUTE))
    assert len(sent(bench.done(1, second[0], at=50 * MINUTE))) == 1
