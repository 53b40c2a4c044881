"""A bag's share of what several bags use: slots of common machines, machines of an offering."""

import math
from dataclasses import replace
from typing import Final

from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import ClusterState, Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.commands import KillTask
from bats.master.brain.protocol.events import Granted, Limited
from bats.master.brain.protocol.settings import ASK
from bats.master.brain.rules import choosing, dispatch, replanning, sampling, telling
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views import investments
from bats.master.brain.views.told.kept import share

MUCH_MORE: Final = 2
"""A rule chooses anew when others leave so many times the machines of a kind that it knew of."""

FOR_OTHERS: Final = "other bags want machines of its kind"
"""The reason for which free machines of a bag leave when others come."""


def granted(run: Run, event: Granted) -> None:
    """More slots are filled at once; of fewer, what is queued and what is copied makes room."""
    machine = run.pool.machines.get(event.machine)
    if machine is None or machine.state in (MachineState.STOPPING, MachineState.GONE):
        return
    fewer = event.slots < machine.slots
    machine.slots = event.slots
    if machine.lent_until is None:
        run.clusters[machine.cluster].shared = True
    machine.advance(run.now)
    if fewer:
        _make_room(run, machine)
    run.pool.hungry[machine.id] = None


def _make_room(run: Run, machine: Machine) -> None:
    unwanted = list(machine.queued)
    over = len(machine.active) - machine.slots
    copies = [one for one in machine.active.values() if len(run.tasks.running[one.task]) > 1]
    unwanted += copies[: max(0, over)]
    for attempt in unwanted:
        run.out.append(KillTask(machine.id, attempt.task, attempt.attempt))


def needs(run: Run) -> int:
    """Each task that is not settled could have a place; copies are made where none is needed.

    One that runs on a machine of its own stays there.
    """
    if not run.begun or run.phase not in dispatch.BUSY_PHASES or run.pause is not None:
        return 0
    could = run.tasks.ready + run.tasks.counts[TaskState.RUNNING]
    if run.lends:
        could -= sum(
            len(m.active) for m in run.pool.alive() if not run.clusters[m.cluster].shared
        )  # fmt: skip
        could = max(could, run.tasks.ready)  # of copies only one is a task
    return min(run.settings.at_once or could, could)


def limited(run: Run, event: Limited) -> None:
    """Free machines beyond the limit leave when their tasks end; paid ones with their paid time."""
    c = run.clusters[event.cluster]
    before = c.offering.max_machines
    c.offering = replace(c.offering, max_machines=event.machines)
    c.held_back = event.machines < run.settings.offerings[c.index].max_machines
    c.contended = c.contended or c.held_back
    if c.offering.free:
        _leave_to_others(run, c)
    if event.machines <= before or not run.begun:
        return
    if c.offering.free and run.phase in dispatch.BUSY_PHASES:
        replanning.keep_free_machines(run)
    elif not c.offering.free and c.startable and not investments.lengths(run, c.index).count:
        executing = run.phase is Phase.EXECUTING and run.pause is None
        priced = run.choice.budget is not None or run.settings.rule != ASK
        if run.phase is Phase.SAMPLING or (executing and priced):
            sampling.learn_of_left(run, c)
    elif run.phase is Phase.EXECUTING:
        wanted = run.plan is not None and run.plan.mix[c.index] >= before
        if not see_what_others_leave(run) and wanted:
            replanning.replan(run, f"other bags leave more {c.offering.name}")


def see_what_others_leave(run: Run) -> bool:
    """Let a rule choose anew where it chose among far fewer machines than may be had by now."""
    told = run.choice.told
    if run.phase is not Phase.EXECUTING or not _chooses_anew(run):
        return False
    if told is None or told.share is None or run.choice.asked is not None:
        return False
    by_now = share(run).machines
    more = [
        c.offering.name
        for c, before, now in zip(run.clusters, told.share.machines, by_now, strict=True)
        if c.contended and c.startable and now >= max(1, MUCH_MORE * before)
    ]
    if more:
        cause = f"other bags leave more {' and '.join(more)}"
        run.say(f"{cause}: what {run.settings.rule} comes to is told anew")
        choosing.allow_for_more(run)
        replanning.replan(run, cause)
        telling.promise_anew(run)
    return bool(more)


def _chooses_anew(run: Run) -> bool:
    """A price that a user has chosen stays."""
    return run.pause is None and run.choice.budget is None and run.settings.rule != ASK


def _leave_to_others(run: Run, c: ClusterState) -> None:
    staying = sorted(
        run.pool.staying(c.index),
        # One of whose places others have some goes last; both count places for tasks of this bag.
        key=lambda one: (one.slots < one.offering.slots, one.load, -one.id),
    )
    for machine in staying[: max(0, len(staying) - c.offering.max_machines)]:
        if machine.state is MachineState.REQUESTED:
            hiring.stop(run, machine, FOR_OTHERS)
        else:
            machine.draining = FOR_OTHERS
            run.pool.hungry[machine.id] = None


def appetite(run: Run, c: ClusterState) -> tuple[int, int]:
    """The machines that there are, and the most that it could put to use."""
    living = len(run.pool.living[c.index])
    if not needs(run) or not c.startable or run.waits_for_cap:
        return living, living
    useful = math.ceil(run.tasks.unfinished / c.offering.slots)
    most = min(run.settings.offerings[c.index].max_machines, useful)
    return living, max(living, most)
