"""Machines that several bags use, as one bag's engine sees them: slots come and go."""

import msgpack
from helpers.workbench import Bench, free, offering, only, sent, settings

from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.offering import MANUAL
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cause, Gone, Granted, Joined, Limited
from bats.master.brain.protocol.journal import event_from, plain

DESK = MachineId(500_001)


def bench(tasks: int = 10, **more: object) -> Bench:
    made = Bench(settings(tasks, offering("desk", 0, machines=0, backend=MANUAL), **more))
    made.begin()
    return made


def joined(made: Bench, slots: int) -> list[int]:
    return sent(made(Joined(DESK, slots, (), 0)))


def test_a_slot_that_is_granted_gets_a_task_at_once() -> None:
    made = bench()
    assert joined(made, 0) == []
    assert len(sent(made(Granted(DESK, 2)))) == 2


def test_a_slot_that_is_withdrawn_ends_its_task_and_gets_no_other() -> None:
    made = bench()
    tasks = joined(made, 2)
    assert only(do.KillTask, made(Granted(DESK, 1))) == []
    assert made.engine.fills(DESK) == 2
    assert sent(made.done(DESK, tasks[0], at=1.0)) == []
    assert made.engine.fills(DESK) == 1
    assert len(sent(made.done(DESK, tasks[1], at=2.0))) == 1


def test_what_is_queued_on_a_slot_that_is_withdrawn_waits_for_another() -> None:
    made = bench(10_000, replicate=False)
    for _ in range(3):  # short tasks are sent ahead
        task = (
            joined(made, 1)[0]
            if made.now == 0.0
            else next(iter(made.run.pool.machines[DESK].active))
        )
        made.done(DESK, task, at=made.now + 0.001)
    machine = made.run.pool.machines[DESK]
    queued = [attempt.task for attempt in machine.queued]
    assert queued
    kills = only(do.KillTask, made(Granted(DESK, 0)))
    assert [kill.task for kill in kills] == queued
    for task in queued:
        made.end(DESK, task, Outcome.KILLED)
    assert not machine.queued
    assert made.run.tasks.in_flight == 1


def test_a_copy_makes_room_for_other_bags() -> None:
    minutes = tuple(60.0 * n for n in range(1, 21))
    kinds = free("slow"), free("quick")
    made = Bench(settings(2, *kinds, known=(minutes, tuple(one / 10 for one in minutes))))
    made.begin()
    made.join(1, 0.0)
    (task,) = sent(made.join(2, 0.0))
    (copied,) = sent(made.done(2, task, at=60.0))
    (kill,) = only(do.KillTask, made(Granted(MachineId(2), 0)))
    assert kill == do.KillTask(MachineId(2), copied, 2)


def test_a_bag_needs_a_place_for_each_task_that_is_not_settled() -> None:
    made = bench(5)
    assert made.engine.needs == 5
    task = joined(made, 2)[0]
    made.done(DESK, task, at=1.0)
    assert made.engine.needs == 4
    assert bench(5, at_once=3).engine.needs == 3


def test_plans_count_the_slots_that_the_bag_has() -> None:
    made = bench(50)
    made.done(DESK, joined(made, 8)[0], at=1.0)
    made(Granted(DESK, 3))
    (part,) = made.run.planning_clusters()
    assert part.limit * part.offering.slots == 3


def test_a_machine_that_the_bag_let_go_can_be_its_again() -> None:
    made = bench()
    joined(made, 1)
    made(Gone(DESK, 1.0, Cause.STOPPED), 1.0)
    assert len(joined(made, 1)) == 1


def test_a_bag_whose_machines_others_have_says_so_and_does_not_end() -> None:
    made = Bench(settings(3, offering("lab", 1, machines=2), budget=50))
    made(Limited(0, 0))
    assert only(do.StartMachines, made.begin()) == []
    assert made.run.outcome is None
    assert made.engine.task(TaskId(0)).waits == "other bags have the machines of lab"
    assert only(do.StartMachines, made(Limited(0, 1)))


def test_of_free_machines_that_are_to_leave_those_that_other_bags_use_too_leave_last() -> None:
    made = Bench(settings(30, free("lab", machines=2, slots=2)))
    made.begin()
    tasks = sent(made.join(1, slots=2))
    made.join(2, slots=2)
    made(Granted(MachineId(1), 0))
    for task in tasks[:2]:
        made.done(1, task, at=1.0)  # it has less to do there
    made(Limited(0, 1))
    assert [one.id for one in made.run.pool.staying(0)] == [1]


def test_a_grant_is_read_back_from_the_journal() -> None:
    written = msgpack.packb(plain(Granted(DESK, 3)))
    assert event_from(msgpack.unpackb(written)) == Granted(DESK, 3)
