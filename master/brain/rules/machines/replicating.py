"""Two pools: the unreliable one is held at its size, and what is late there is given up."""

import math
from typing import Final

from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import Attempt, TaskState
from bats.master.brain.policies.replication import Pools
from bats.master.brain.protocol.commands import KillTask
from bats.master.brain.rules.machines import hiring

GRACE_SECONDS: Final = 30.0
"""The time that a machine has to end what it is told to end; then it is held to be lost."""


def rules(run: Run) -> Pools | None:
    """The rules of the strategy, while they apply."""
    if run.phase is not Phase.EXECUTING or run.pause is not None:
        return None
    return run.replicator.pools()


def follow(run: Run, *, looked: bool) -> None:
    """See to both pools; before the tail where machines came or went, or it is looked around."""
    pools = rules(run)
    if pools is None:
        return
    instances = run.instances
    living = tuple(len(group) for group in run.pool.living)
    tail = instances.tail_at is not None
    if not (tail or looked or living != instances.living):
        return
    for machine in run.pool.alive():
        if not machine.offering.reliable:
            _give_up(run, pools, machine)
    hopeless = pools.hopeless(run)
    for c in run.clusters:
        if hopeless and not c.offering.reliable:
            hiring.set_aside(run, c, f"the last {instances.fruitless} tasks there were lost")
        if c.startable:
            hiring.start(run, c.index, pools.wanted(run, c) - len(run.pool.staying(c.index)))
    instances.living = tuple(len(group) for group in run.pool.living)
    if tail:
        run.pool.hungry.update(run.pool.idle)


def see_the_tail(run: Run) -> None:
    """The tail begins when all that is left has been sent, and is little."""
    pools = rules(run)
    if pools is not None and run.instances.tail_at is None and pools.tail_begins(run):
        run.instances.tail_at = run.now
        run.say(f"the tail begins: {run.not_done}")


def next_at(run: Run) -> float:
    """The time when something of the tail is due next."""
    pools = rules(run)
    if pools is None or run.instances.tail_at is None:
        return math.inf
    ends = (
        _over_at(run, pools, machine, attempt)
        for machine in run.pool.alive()
        if not machine.offering.reliable and machine.state is not MachineState.STOPPING
        for attempt in machine.active.values()
    )
    return min(pools.due_at(run), *ends, math.inf)


def _over_at(run: Run, pools: Pools, machine: Machine, attempt: Attempt) -> float:
    if attempt.given_up_at is not None:
        return attempt.given_up_at + GRACE_SECONDS
    return pools.deadline_at(run, machine, attempt)


def _give_up(run: Run, pools: Pools, machine: Machine) -> None:
    """End what is late, and machines that do not answer to that."""
    if machine.state not in (MachineState.UP, MachineState.SILENT):
        return
    for attempt in list(machine.active.values()):
        if attempt.given_up_at is None:
            done = run.tasks.states[attempt.task] == TaskState.DONE and not attempt.sampling
            if done:  # it has been told to end
                attempt.given_up_at = run.now
            elif run.now >= pools.deadline_at(run, machine, attempt):
                attempt.given_up_at = run.now
                run.out.append(KillTask(machine.id, attempt.task, attempt.attempt))
        elif run.now >= attempt.given_up_at + GRACE_SECONDS:
            run.say(f"{machine.name} does not answer any more")
            hiring.stop(run, machine, "does not answer any more")
            return
