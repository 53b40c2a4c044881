"""Orders of the user to a bag: what to do without, when to end, what comes first, and others."""

from typing import Final

from bats.common.messages import TaskId
from bats.common.units import counted
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.ready import drawn
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.graphs.ranks import through_barriers
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import (
    Cancelled,
    LeftOut,
    Order,
    Ordered,
    Resumed,
    Retried,
    Suspended,
)
from bats.master.brain.rules import choosing, dispatch, pausing, replanning, sampling
from bats.master.brain.views.order.bag_course import task_seconds

RANKED_AGAIN: Final = 4
"""Times as many tasks are done when ranks are worked out anew: a whole life asks for few."""


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


def ordered(run: Run, event: Ordered) -> None:
    """Ready tasks are begun in this order; what the sample has set apart goes on."""
    if event.order is run.order:
        return
    run.order = event.order
    _arrange(run)
    run.say(_WORDS[event.order])


def rank_anew(run: Run) -> None:
    """Rank tasks by what is known of their runtimes by now, if that is much more."""
    if run.order is not Order.RANDOM and run.tasks.done >= max(1, RANKED_AGAIN * run.ranked_at):
        _arrange(run)


def _arrange(run: Run) -> None:
    run.ranked_at = run.tasks.done
    ranks: list[float] = []
    order = run.tasks.order
    if order is None:
        return  # the tasks of a bag have no ranks: chance or a law says which is next
    if run.order is not Order.RANDOM:
        ranks = through_barriers(order.graph, order.in_order(), task_seconds(run, order.graph))
    run.by_kind = None
    run.tasks.arrange(lambda tasks: drawn(order, tasks, run.rng, run.order, ranks))


_WORDS: Final = {
    Order.RANDOM: "ready tasks are begun in no order, as the placement says",
    Order.LONGEST: "ready tasks with the longest way to the end go first, as the placement says",
    Order.SHORTEST: "ready tasks with the shortest way to the end go first, as the placement says",
}
