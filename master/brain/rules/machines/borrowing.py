"""Borrowing: machines that other bags pay for run tasks of this one, at no charge.

A borrowed machine is in no plan. A task is begun there if nine of ten are known to end in the time
that is left, and no later than they would on the bag's own machines; if the machine goes all the
same, the task goes back as if it had never begun.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bats.common.messages import TaskId
from bats.common.money import NOTHING
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.protocol.commands import KillTask, RunTasks
from bats.master.brain.protocol.events import Borrowed, Cause, TakenBack
from bats.master.brain.protocol.settings import ASK
from bats.master.brain.rules import dispatch
from bats.master.brain.rules.machines import replicating
from bats.master.brain.views import investments

SURE: Final = 0.9
"""The share of the known runtimes that must fit into what is left of a borrowed machine's time."""


def borrowed(run: Run, event: Borrowed) -> None:
    if event.until <= run.now or run.phase not in dispatch.BUSY_PHASES:
        return
    offering = replace(run.clusters[event.cluster].offering, price=NOTHING)
    machine = Machine(event.machine, event.cluster, offering, run.now)
    machine.lent_until, machine.slots = event.until, event.slots
    machine.move(MachineState.UP)
    machine.joined_at = run.now
    run.pool.borrow(machine)
    run.pool.hungry[machine.id] = None


def taken_back(run: Run, event: TakenBack) -> None:
    if machine := run.pool.borrowed.get(event.machine):
        give_back(run, machine)


def give_back(run: Run, machine: Machine) -> None:
    """Its tasks wait again; no failure of theirs is counted."""
    for attempt in machine.attempts():
        run.out.append(KillTask(machine.id, attempt.task, attempt.attempt))
    dispatch.on_machine_lost(run, machine, Cause.STOPPED)
    machine.move(MachineState.GONE)
    run.pool.give_back(machine)


def fitting(run: Run, machines: Sequence[tuple[int, float]]) -> list[bool]:
    """True for each where a task of this bag should end, of kinds that are lent until then."""
    if not run.tasks.ready or not _may_borrow(run):
        return [False] * len(machines)
    if run.phase is Phase.SAMPLING:  # it learns from what serves it as its own would
        return [math.isinf(until) for _, until in machines]
    latest = _ends_itself(run)
    return [_fits(run, cluster, min(until, latest)) for cluster, until in machines]


def _fits(run: Run, cluster: int, until: float) -> bool:
    if math.isinf(until):
        return True  # it serves this bag as its own would
    known = investments.lengths(run, cluster)
    if not known.count or until <= run.now:
        return False
    share = known.share_within(until - run.now)
    return share > 0 if run.foreseen is not None else share >= SURE


def _ends_itself(run: Run) -> float:
    """The time when the last of what waits should end on its own machines."""
    speed, quickest = 0.0, math.inf
    for machine in run.pool.alive():
        known = investments.lengths(run, machine.cluster)
        if machine.staying and machine.slots and known.count:
            speed += machine.slots / known.mean_done
            quickest = min(quickest, known.mean_done)
    return run.now + run.tasks.waiting / speed + quickest if speed else math.inf


def _may_borrow(run: Run) -> bool:
    asks = run.phase is Phase.CHOOSING and run.settings.rule == ASK
    return (
        run.phase in dispatch.BUSY_PHASES
        and run.pause is None
        and not asks
        and replicating.rules(run) is None
    )


def fill(run: Run, machine: Machine) -> None:
    """Begin what should end in time."""
    run.pool.hungry.pop(machine.id, None)
    run.pool.idle.pop(machine.id, None)
    if run.phase not in dispatch.BUSY_PHASES or machine.state is not MachineState.UP:
        return
    room = machine.slots + dispatch.ahead(run, machine) - machine.load
    if run.settings.at_once:
        room = min(room, run.settings.at_once - dispatch.in_slots(run))
    orders: list[tuple[TaskId, int]] = []
    for _ in range(room):
        task = _next(run, machine.cluster, machine.idle_until(run.now))
        if task is None:
            break
        attempt = run.tasks.send(task, machine.id)
        machine.take(attempt, run.now)
        orders.append((task, attempt.attempt))
    if orders:
        run.out.append(RunTasks(machine.id, tuple(orders)))
    if machine.load < machine.slots:
        run.pool.idle[machine.id] = None


def _next(run: Run, cluster: int, until: float) -> TaskId | None:
    if fitting(run, [(cluster, until)]) != [True]:
        return None
    if run.foreseen is None or math.isinf(until):
        return run.tasks.draw()
    ratios = run.foreseen.law.ratios  # of what tasks took to what was foreseen of them, rising
    sure = ratios[min(len(ratios) - 1, int(SURE * len(ratios)))]
    seconds = min(until, _ends_itself(run)) - run.now
    return run.tasks.draw(within=run.clusters[cluster].line.back(seconds) / sure)
