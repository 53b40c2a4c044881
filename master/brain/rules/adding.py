"""Tasks that are added to an open bag while it runs, and the word that no more will come.

What is planned, told and reserved is for the tasks known so far. A bag that grows little by little
is planned anew at its usual looks; one that has grown much, or had nothing to do, at once.
"""

from typing import Final

from bats.common.units import counted
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.protocol.commands import KillTask
from bats.master.brain.protocol.events import Added, AllAdded
from bats.master.brain.rules import choosing, dispatch, replanning, sampling, telling

MUCH: Final = 1.1
"""A bag that has so many times the tasks it was planned for is planned anew at once."""


def added(run: Run, event: Added) -> None:
    """Take the tasks in, and go on with what the bag was at."""
    first = not len(run.tasks)
    idle = not run.tasks.waiting
    run.tasks.grow(event.tasks)
    if not run.begun:
        return
    if run.phase not in dispatch.BUSY_PHASES:
        run.tasks.drop_unfinished()  # it ended while they were on their way
        return
    if idle:
        run.next_monitor = run.now  # while it had nothing to do nobody looked
        run.instances.tail_at = None
    _make_room(run)
    if first:
        _planned(run)
        sampling.begin(run)
    elif run.pause is None and (idle or len(run.tasks) > MUCH * run.planned_tasks):
        _planned(run)
        _plan_for_more(run)


def all_added(run: Run, _: AllAdded) -> None:
    if run.open:
        run.open = False
        run.say(f"no more tasks will be added to the {counted(len(run.tasks), 'task')} there are")


def _planned(run: Run) -> None:
    run.planned_tasks = len(run.tasks)


def _plan_for_more(run: Run) -> None:
    if run.phase is Phase.SAMPLING:
        sampling.grow(run)
    elif run.phase is Phase.CHOOSING:
        choosing.offer(run)
    elif not run.provisioner.samples:
        sampling.start_all(run)
    else:
        choosing.allow_for_more(run)
        sampling.learn_of_others(run)
        replanning.replan(run, "tasks were added")
        telling.promise_anew(run)


def _make_room(run: Run) -> None:
    """Stop copies of running tasks where tasks wait that nobody has begun."""
    if run.replicator.pools() is not None:
        return
    room = sum(max(0, m.slots - m.load) for m in run.pool.alive())
    for attempts in run.tasks.running.values():
        for copy in attempts[1:]:
            if room >= run.tasks.ready:
                return
            if not copy.sampling:
                run.out.append(KillTask(copy.machine, copy.task, copy.attempt))
                room += 1
