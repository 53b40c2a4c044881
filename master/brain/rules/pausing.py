"""A paused run begins and buys nothing. Its user is told why, and says how it goes on.

By default the first dozen tasks that fail alike pause it; `max_failures` counts instead how many
tasks have been given up, alike or not.
"""

from typing import Final

from bats.common.messages import TaskId
from bats.common.money import Money
from bats.master.brain.books.alike_failures import Alike
from bats.master.brain.books.machine import Machine, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.commands import KillTask, Pause, Paused
from bats.master.brain.rules import replanning, sampling
from bats.master.brain.rules.machines import hiring

REASON: Final = "the bag is paused"
"""The reason for which machines of a paused run end."""


def failed(run: Run, task: TaskId, why: str) -> None:
    """A task has failed once more; pause the run if that is one too many.

    In journals of version 0.1.0 and where a task was given up with its machines `why` is empty:
    such failures are not compared.
    """
    limit = run.settings.max_failures
    if why and not limit:
        run.progress.alike.add(task, why)  # also one that ran on when it was paused
    if run.pause is not None or not run.tasks.waiting:
        return
    given_up = run.tasks.counts[TaskState.FAILED] - run.progress.forgiven
    if limit and given_up >= limit:
        count = f"{given_up} task{'s have' if given_up > 1 else ' has'} failed"
        last = f", the last: {why}" if why else ""
        pause(run, f"{count} (max_failures = {limit}){last}", task)
    elif not limit and (alike := run.progress.alike).enough:
        words = f"the first {len(alike.tasks)} tasks all failed alike: {alike.why}"
        pause(run, words, task, again=True)


def pause(
    run: Run,
    reason: str,
    task: TaskId | None = None,
    *,
    again: bool = False,
    budget: Money | None = None,
) -> None:
    """Begin and buy nothing more. What runs may end within the time that is paid for."""
    machines = tuple(len(run.pool.staying(c.index)) for c in run.clusters)
    run.pause = Pause(reason, run.now, task, again, machines, budget)
    run.out.append(Paused(run.pause))
    for machine in run.pool.alive():
        for attempt in machine.queued:
            run.out.append(KillTask(machine.id, attempt.task, attempt.attempt))
        if machine.state is MachineState.REQUESTED and machine.charged_since is None:
            hiring.stop(run, machine, REASON)
        else:
            run.pool.hungry[machine.id] = None


def rest(run: Run, machine: Machine) -> None:
    """Rest a machine with room: what is paid for waits till that ends, free ones stop.

    One whose files are still coming is looked at when they are here.
    """
    used = machine.load or machine.collecting
    if machine.offering.free and not used:
        hiring.stop(run, machine, REASON)
        return
    run.pool.idle[machine.id] = None
    if not used:
        run.pool.alarm(machine, machine.idle_until(run.now))


def resume(run: Run) -> None:
    """Go on. What failed alike is tried again: its cause should be mended."""
    paused, run.pause = run.pause, None
    stood_since = run.ended_at if paused is None else paused.since
    if stood_since is not None:
        run.progress.went_on(stood_since, run.choice.at, run.now)
    if paused is None:
        return
    words = "resumed"
    if paused.again:
        words += f"; the {len(run.progress.alike.tasks)} tasks that failed alike are tried again"
        for task in run.progress.alike.tasks:
            run.tasks.forgive(task)
    run.say(words)
    run.progress.waited_since = run.next_monitor = run.progress.ended_last = run.now
    run.progress.spent_then, run.progress.fruitless = None, 0
    arm(run)
    replanning.keep_free_machines(run)
    if run.phase is Phase.SAMPLING:
        _take_up_the_sample(run, paused.machines)
    elif not run.provisioner.samples:
        sampling.start_all(run)
    elif run.phase is Phase.EXECUTING:
        replanning.replan(run, "resumed")


def _take_up_the_sample(run: Run, machines: tuple[int, ...]) -> None:
    """Take the sample up with as many machines as there were, and what failed of the tasks for all.

    Where no budget was given, what it may cost is counted from here on.
    """
    sample, limit = run.sample, run.ledger.limit
    if run.settings.budget is None and limit is not None:
        run.ledger.limit = Money(limit + run.ledger.settled - run.progress.unasked)
        run.progress.unasked = run.ledger.settled
    for k, count in enumerate(machines):
        if sample is not None and count:
            wanted = [
                task
                for task in sample.replicated
                if task not in sample.observed[k]
                and task not in sample.open[k]
                and run.tasks.states[task] == TaskState.WAITING
            ]
            sample.open[k].update(wanted)
            sample.left[k] += wanted
        hiring.start(run, k, count - len(run.pool.staying(k)))


def arm(run: Run) -> None:
    """Count failures from here on."""
    run.progress.alike = Alike()
    run.progress.forgiven = run.tasks.counts[TaskState.FAILED]


def tried_again(run: Run) -> list[TaskId]:
    """Tasks that were given up and will be tried again when the run is resumed."""
    if run.pause is None or not run.pause.again:
        return []
    return [task for task in run.progress.alike.tasks if run.tasks.states[task] == TaskState.FAILED]
