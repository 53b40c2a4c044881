"""Orders of the user to a bag that has begun: do without tasks, end, try again, stand still."""

from bats.common.messages import TaskId
from bats.common.units import counted
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Cancelled, LeftOut, Resumed, Retried, Suspended
from bats.master.brain.rules import choosing, dispatch, pausing, replanning, sampling


def left_out(run: Run, event: LeftOut) -> None:
    """Stop what runs of them; a bag that waits for money goes on if there is enough by now."""
    for task in event.tasks:
        if run.tasks.states[task] in (TaskState.WAITING, TaskState.RUNNING):
            run.tasks.leave_out(task)
            run.cancel_copies(task)
            sampling.leave_out(run, task)
    run.say(f"{counted(len(event.tasks), 'task')} left out, as asked")
    if run.phase is Phase.EXECUTING and run.tasks.unfinished:
        choosing.go_on_for_less(run)


def cancelled(run: Run, event: Cancelled) -> None:
    if run.phase in dispatch.BUSY_PHASES:
        run.end(BagOutcome.CANCELLED, f"{event.reason}; {run.not_done}")


def retried(run: Run, event: Retried) -> None:
    """Failed tasks are tried again; a bag that had ended goes on."""
    for task in event.tasks:
        if run.tasks.states[task] in (TaskState.FAILED, TaskState.DROPPED):
            run.tasks.retry(task)
    if run.tasks.order is not None and run.phase in (Phase.ENDING, Phase.ENDED):
        _take_up_dropped(run)
    pausing.resume(run)
    if run.phase in (Phase.ENDING, Phase.ENDED) and run.tasks.unfinished:
        pausing.arm(run)
        run.outcome, run.ended_at = None, None
        if sampling.begin_again(run):
            return
        run.move(Phase.EXECUTING)
        replanning.replan(run, "tasks are tried again")


def _take_up_dropped(run: Run) -> None:
    """Try again whatever the end of a workflow left undone: what is tried again may wait for it."""
    for task, state in enumerate(run.tasks.states):
        if state == TaskState.DROPPED:
            run.tasks.retry(TaskId(task))


def suspended(run: Run, event: Suspended) -> None:
    if run.phase in dispatch.BUSY_PHASES and run.pause is None:
        pausing.pause(run, event.reason)


def resumed(run: Run, _: Resumed) -> None:
    pausing.resume(run)
