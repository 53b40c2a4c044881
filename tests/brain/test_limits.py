"""A limit on tasks at a time holds whatever happens, and no slot that may be used stays empty."""

import random

import pytest
from helpers.workbench import Bench, free, only, sent, settings

from bats.common.messages import MachineId
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cause, Gone


def test_no_more_tasks_are_sent_than_may_run_at_a_time() -> None:
    bench = Bench(settings(10, free(machines=2, slots=4), at_once=5))
    bench.begin()
    first = sent(bench.join(1, slots=4))
    assert len(first) == 4
    assert len(sent(bench.join(2, slots=4))) == 1, "the fifth"
    after = bench.done(1, first[0], at=1)
    assert len(sent(after)) == 1, "one ended, one begins"


def test_another_machine_may_take_what_one_that_is_lost_had() -> None:
    bench = Bench(settings(10, free(machines=2, slots=2), at_once=2))
    bench.begin()
    lost = sent(bench.join(1, slots=2))
    assert len(lost) == 2
    assert sent(bench.join(2, slots=2)) == []
    after = bench(Gone(MachineId(1), 5.0, Cause.FAILED, "gone"), 5)
    assert [run.machine for run in only(do.RunTasks, after)] == [2]
    assert len(sent(after)) == 2


@pytest.mark.parametrize("at_once", [1, 3, 7])
def test_the_limit_holds_to_the_end_with_machines_of_any_speed(at_once: int) -> None:
    chance = random.Random(at_once)
    bench = Bench(settings(60, free(machines=3, slots=3), at_once=at_once, retries=3))
    bench.begin()
    for machine in (1, 2, 3):
        bench.join(machine, slots=3)
    while not bench.run.outcome:
        running = [one for copies in bench.run.tasks.running.values() for one in copies]
        assert 0 < len(running) <= at_once
        waiting = bench.run.tasks.waiting
        assert len(running) == min(at_once, 9) or not waiting
        ended = chance.choice(running)
        bench.done(ended.machine, ended.task, at=bench.now + 0.01, attempt=ended.attempt)
        bench.engine.check()
    assert bench.run.tasks.done == 60


def test_tasks_of_several_slots_are_never_queued_ahead() -> None:
    """The worker counts slots, not places: it would start what is queued at once."""
    quick = settings(1000, free(slots=2), task_slots=2)
    bench = Bench(quick)
    bench.begin()
    tasks = sent(bench.join(1, slots=2))
    for k in range(20):
        tasks += sent(bench.done(1, tasks[k], at=0.001 * (k + 1)))
        assert bench.run.pool.machines[MachineId(1)].load == 2
