"""Two pools: the unreliable one is held at its size, and what is late there is given up."""

import math

from bats.common.units import in_words
from bats.master.brain.books.instances import Choice
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import Attempt, TaskState
from bats.master.brain.policies.known_pools import weighing
from bats.master.brain.policies.replication import Pools
from bats.master.brain.policies.two_pools import UNTIL_WEIGHED, grace_seconds
from bats.master.brain.protocol.commands import KillTask, Weigh
from bats.master.brain.protocol.events import Preferred, Weighed
from bats.master.brain.rules.machines import hiring
from bats.master.brain.unreliable.notation import read


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
    _see_the_size(run)
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


def _see_the_size(run: Run) -> None:
    """Take down how many unreliable machines could be had while they were wanted."""
    instances = run.instances
    if instances.seen_at is not None:
        there = sum(
            machine.slots
            for machine in run.pool.alive()
            if not machine.offering.reliable and machine.state is MachineState.UP
        )
        instances.wait(run.now - instances.seen_at, there)
    instances.seen_at = run.now if run.tasks.ready else None


def see_the_tail(run: Run) -> None:
    """The tail begins when all that is left has been sent, and is little."""
    pools = rules(run)
    if pools is not None and run.instances.tail_at is None and pools.tail_begins(run):
        run.instances.tail_at = run.now
        run.say(f"the tail begins: {run.not_done}")


def ask(run: Run) -> None:
    """Ask which strategy to go on with: once results tell, and again when the tail begins."""
    pools, instances = rules(run), run.instances
    if pools is None or not pools.chosen_by or instances.asked or not pools.is_known(run):
        return
    last = instances.weighed
    tail = instances.tail_at
    if instances.preferred is not None:
        return
    if last is not None and (tail is None or last.at >= tail):
        return
    if (asked := weighing(run, pools.chosen_by)) is not None:
        instances.asked, instances.asked_at = asked, run.now
        run.out.append(Weigh(asked))


def weighed(run: Run, event: Weighed) -> None:
    instances = run.instances
    if instances.asked is None:
        return
    instances.asked = None
    last = instances.weighed
    if event.strategy:
        written = read(event.strategy)
    else:  # nothing comes back: what was there goes on, and is not asked again
        written = last.written if last else read(UNTIL_WEIGHED)
    ends_at = instances.asked_at + event.seconds  # it may have been thought about for long
    took = ends_at - run.began_at
    instances.weighed = Choice(written, instances.asked_at, took, event.cost)
    run.say(_in_words(run, event, max(0.0, ends_at - run.now)))
    run.pool.hungry.update(run.pool.idle)


def preferred(run: Run, event: Preferred) -> None:
    """The user's word stands: an answer that is on its way is not waited for, none asked again."""
    run.instances.asked = None
    run.instances.preferred = read(event.strategy)
    run.say(f"strategy {event.strategy}, as its user wants")
    run.pool.hungry.update(run.pool.idle)


def _in_words(run: Run, event: Weighed, rest_seconds: float) -> str:
    if not event.strategy:
        return "no strategy would end the bag: nothing comes back from its unreliable machines"
    limits = "" if event.kept else "; none of them would surely keep the limits given"
    return (
        f"strategy {event.strategy}, the best of {event.efficient}: the rest should take "
        f"{in_words(rest_seconds)}, all of the bag cost {run.shown(event.cost)}{limits}"
    )


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
        return attempt.given_up_at + grace_seconds(run)
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
        elif run.now >= attempt.given_up_at + grace_seconds(run):
            run.say(f"{machine.name} does not answer any more")
            hiring.stop(run, machine, "does not answer any more")
            return
