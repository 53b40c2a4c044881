"""Dispatch: the task for a machine with room, be it of the sample, a random one, or a copy."""

from typing import Final

from bats.common.messages import Outcome, TaskId
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import Attempt, TaskState
from bats.master.brain.policies.paid_time import Copies
from bats.master.brain.protocol.commands import KillTask, Record, RunTasks
from bats.master.brain.protocol.events import AnyEnding, Cause, Collecting, Ended, Ending
from bats.master.brain.rules import pausing, sampling, standstill
from bats.master.brain.rules.machines import hiring, replicating, reserving
from bats.master.brain.views import investments

AHEAD_SECONDS: Final = 0.1  # work queued on a machine, to bridge the way to the master and back
MOST_AHEAD: Final = 512
BUSY_PHASES: Final = (Phase.SAMPLING, Phase.CHOOSING, Phase.EXECUTING)


def fill(run: Run, machine: Machine) -> None:
    """Give the machine what it has room for; it is idle if there was not enough."""
    run.pool.hungry.pop(machine.id, None)
    was_idle = machine.id in run.pool.idle
    run.pool.idle.pop(machine.id, None)
    if machine.state is not MachineState.UP or run.phase not in BUSY_PHASES:
        return
    if machine.draining:
        if not machine.load and not machine.collecting:
            hiring.stop(run, machine, machine.draining)
        return
    if run.pause is not None:
        pausing.rest(run, machine)
        return
    load = machine.load
    if load > machine.slots and load * 2 > machine.slots + ahead(run, machine):
        return  # enough is queued; sending a few at a time would cost a message each
    orders: list[tuple[TaskId, int]] = []
    room = machine.slots + ahead(run, machine) - load
    if run.settings.at_once:
        room = min(room, run.settings.at_once - in_slots(run))
    for _ in range(room):
        attempt = _next(run, machine)
        if attempt is None:
            break
        machine.take(attempt, run.now)
        if not machine.offering.reliable:
            run.instances.send(attempt.task, attempt.attempt, run.now, machine.cluster)
        orders.append((attempt.task, attempt.attempt))
    if orders:
        run.out.append(RunTasks(machine.id, tuple(orders)))
        hiring.mind_lease(run, machine)
    if machine.load < machine.slots:
        run.pool.idle[machine.id] = None
    if not machine.load and not was_idle:
        run.pool.alarm(machine, machine.idle_until(run.now))


def in_slots(run: Run) -> int:
    """The number of attempts that have or wait for a slot."""
    return run.tasks.in_flight - sum(len(machine.collecting) for machine in run.pool.working())


def ahead(run: Run, machine: Machine) -> int:
    """The number of tasks to queue beyond the slots: none when tasks are long or few are left."""
    if machine.hold_back or not machine.done_count:
        return 0
    if run.settings.at_once or run.settings.task_slots > 1:
        return 0  # what is queued, a worker starts in any slot
    mean = machine.done_seconds / machine.done_count
    wanted = int(AHEAD_SECONDS * machine.slots / mean) if mean > 1e-9 else MOST_AHEAD
    living = sum(len(group) for group in run.pool.living) + len(run.pool.borrowed)
    return min(wanted, MOST_AHEAD, run.tasks.ready // (2 * living))


def _next(run: Run, machine: Machine) -> Attempt | None:
    sample = run.sample
    if run.phase is Phase.SAMPLING and sample is not None and sample.left[machine.cluster]:
        if not _may_sample(run, machine):
            return None
        task = sample.left[machine.cluster].pop()
        return run.tasks.send(task, machine.id, sampling=True)
    if run.phase is Phase.EXECUTING:
        moved = run.replicator.move(run, machine)
        if moved is not None:
            run.cancel_copies(moved)
            return run.tasks.send(moved, machine.id)
    pools = replicating.rules(run)
    if pools is not None:
        if run.instances.tail_at is not None:
            following = pools.next(run, machine)
            return None if following is None else run.tasks.send(following, machine.id)
        if not pools.begins(run, machine):
            return None
    if run.tasks.ready and not _may_begin(run, machine):
        fitting = _fitting(run, machine)
        return None if fitting is None else run.tasks.send(fitting, machine.id)
    drawn = run.draw_for(machine.cluster)
    if drawn is not None:
        return run.tasks.send(drawn, machine.id)
    if run.phase is Phase.EXECUTING and machine.load < machine.slots:
        copy = _copy(run, machine)
        if copy is not None:
            return run.tasks.send(copy, machine.id)
    return None


def _may_begin(run: Run, machine: Machine) -> bool:
    if machine.offering.free:
        return True
    paid_only = run.phase is Phase.SAMPLING and not sampling.continues(run, machine.cluster)
    return reserving.begins(
        run, machine, run.provisioner.time.to_begin(run, machine, paid_only=paid_only)
    )


def _fitting(run: Run, machine: Machine) -> TaskId | None:
    """The longest task that should end in time that is billed anyway, where a law tells which."""
    if run.phase is Phase.SAMPLING:
        return None
    return run.tasks.draw(within=investments.idle_seconds(run, machine))


def _may_sample(run: Run, machine: Machine) -> bool:
    if machine.offering.free:
        return True
    return reserving.begins(run, machine, run.provisioner.time.to_sample(run, machine))


def _copy(run: Run, machine: Machine) -> TaskId | None:
    copies = Copies.ANY
    if not machine.offering.free:
        copies = run.provisioner.time.copies(run, machine)
    match copies:
        case Copies.ANY:
            return run.replicator.copy(run, machine)
        case Copies.SOONER:
            return run.replicator.paid_copy(run, machine)
        case Copies.NONE:
            return None


def on_ended(run: Run, event: Ended) -> None:
    """Take in results. The first result of a task is recorded; its other copies are killed.

    Whoever asks has seen to it that they were ordered; in an old journal they are facts.
    """
    machine = run.pool.machines.get(event.machine)
    recorded: list[AnyEnding] = []
    for ending in event.endings:
        run.tasks.lost.pop((ending.task, ending.attempt), None)
        attempt = None
        if machine is not None:
            if ending.task in machine.collecting:
                run.pool.idle.pop(machine.id, None)  # its use may end with that: look anew
            attempt = machine.release(ending.task, ending.attempt, run.now)
            if attempt is not None:
                run.tasks.remove(attempt)
                _learn_of_its_machine(run, attempt, ending.outcome)
        if ending.outcome is Outcome.DONE:
            run.progress.alike.broken = True
            if machine is not None:
                run.observe(machine, ending.task, ending.seconds)
                sampling.ended(run, machine.cluster, ending.task)
            if run.tasks.finish(ending.task):
                recorded.append(ending)
                run.cancel_copies(ending.task, but_sample=run.phase is Phase.SAMPLING)
            else:
                run.duplicates += 1
        elif ending.outcome is not Outcome.KILLED:
            if attempt is not None:
                if _failed(run, ending.task):
                    recorded.append(ending)
                pausing.failed(run, ending.task, ending.why)
        elif attempt is not None and machine is not None:
            run.stopped(ending.task, machine.cluster, ending.seconds)
            put_back_if_alone(run, ending.task)
        if run.sample is not None and machine is not None:
            if ending.outcome is Outcome.KILLED:
                _sample_again(run, machine.cluster, ending.task)
            else:
                run.sample.open[machine.cluster].discard(ending.task)
    if any(ending.outcome is not Outcome.KILLED for ending in event.endings):
        standstill.something_ended(run)
    if machine is not None:
        if recorded:
            machine.hold_back = False
            run.out.append(Record(machine.id, tuple(recorded)))
        run.pool.hungry[machine.id] = None


def on_collecting(run: Run, event: Collecting) -> None:
    """Tasks have ended; they are done when what they left is here. Their slots are free."""
    machine = run.pool.machines.get(event.machine)
    if machine is None:
        return
    begun = [machine.collect(task, attempt, run.now) for task, attempt in event.attempts]
    if any(begun):
        standstill.something_ended(run)
        run.pool.hungry[machine.id] = None


def _learn_of_its_machine(run: Run, attempt: Attempt, outcome: Outcome) -> None:
    """An unreliable machine's answer; one that was called off in time says nothing of it."""
    done = outcome is Outcome.DONE
    late = attempt.given_up_at is not None and run.tasks.states[attempt.task] != TaskState.DONE
    if done or late:
        run.instances.end(attempt.task, attempt.attempt, run.now, returned=done)
    else:
        run.instances.cancel(attempt.task, attempt.attempt)


def on_machine_lost(run: Run, machine: Machine, cause: Cause) -> None:
    """Put its tasks back into the bag. One that keeps losing machines is held to be the cause."""
    if cause is Cause.PREEMPTED and not machine.offering.reliable and not machine.done_count:
        run.instances.fruitless += not any(machine.attempts())
    at_fault = cause is Cause.FAILED and machine.offering.reliable
    for attempt in list(machine.attempts()):
        ran = attempt.task in machine.active
        run.tasks.lose(attempt)
        if cause is Cause.STOPPED and attempt.given_up_at is None:
            run.instances.cancel(attempt.task, attempt.attempt)
        else:
            told = cause is Cause.PREEMPTED or cause is Cause.FAILED
            run.instances.end(attempt.task, attempt.attempt, run.now, returned=False, told=told)
        if attempt.sampling:
            _sample_again(run, machine.cluster, attempt.task)
        if run.tasks.states[attempt.task] != TaskState.RUNNING:
            continue
        if ran and cause is Cause.STOPPED:  # else nobody knows until when it ran
            run.stopped(attempt.task, machine.cluster, run.now - attempt.since)
        if (at_fault and ran) or attempt.task in machine.collecting:
            run.tasks.losses[attempt.task] = run.tasks.losses.get(attempt.task, 0) + 1
        poison = run.tasks.losses.get(attempt.task, 0) > run.settings.losses
        if poison and not _sampled_elsewhere(run, attempt.task):
            if attempt.task not in run.tasks.running:
                _give_up_as_poison(run, machine, attempt)
        else:
            put_back_if_alone(run, attempt.task)
    machine.active.clear()
    machine.queued.clear()
    machine.collecting.clear()


def kill_everything(run: Run) -> None:
    """The bag ends: what still runs is not wanted any more."""
    for machine in run.pool.alive():
        for attempt in machine.attempts():
            run.out.append(KillTask(machine.id, attempt.task, attempt.attempt))


def _failed(run: Run, task: TaskId) -> bool:
    """Count the failure; True when the task is given up by it."""
    if run.tasks.states[task] != TaskState.RUNNING:
        return False
    failures = run.tasks.failures[task] = run.tasks.failures.get(task, 0) + 1
    if task in run.tasks.running:
        return False  # a copy may still succeed
    if failures > _retries(run, task) and not _sampled_elsewhere(run, task):
        run.tasks.give_up(task)
        return True
    run.tasks.put_back(task)
    return False


def _retries(run: Run, task: TaskId) -> int:
    if run.tasks.order is not None:
        own = run.tasks.order.graph.steps[run.tasks.order.step_of(task)].retries
        if own is not None:
            return own
    return run.settings.retries


def _sampled_elsewhere(run: Run, task: TaskId) -> bool:
    """True if the sample will run the task on another cluster, where it may succeed."""
    sample = run.sample
    return (
        run.phase is Phase.SAMPLING
        and sample is not None
        and sum(task in still for still in sample.open) > 1
    )


def _give_up_as_poison(run: Run, machine: Machine, attempt: Attempt) -> None:
    run.tasks.give_up(attempt.task)
    losses = run.tasks.losses[attempt.task]
    why = ""
    if attempt.task in machine.collecting:
        why = f"its files were lost with {losses} machines, the last before all had come"
    run.say(
        f"task {attempt.task} given up: "
        + (why or f"{losses} machines broke down while running it")
    )
    ending = Ending(attempt.task, attempt.attempt, Outcome.KILLED, run.now - attempt.since, why)
    run.out.append(Record(machine.id, (ending,)))
    pausing.failed(run, attempt.task, ending.why)


def put_back_if_alone(run: Run, task: TaskId) -> None:
    if task not in run.tasks.running and run.tasks.states[task] == TaskState.RUNNING:
        run.tasks.put_back(task)


def _sample_again(run: Run, cluster: int, task: TaskId) -> None:
    """A sample task that did not end on this cluster is still wanted there."""
    sample = run.sample
    if run.phase is Phase.SAMPLING and sample is not None and task in sample.open[cluster]:
        sample.left[cluster].append(task)
