"""Tasks that wait for other tasks: which ones, in words."""

from collections.abc import Callable, Sequence
from typing import Final

from bats.common.messages import TaskId
from bats.common.units import counted, in_words
from bats.master.brain.books.precedence import Precedence
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState

_NAMED: Final = 5

Asked = Callable[[int], bool]
"""Of a task."""


def by_what(run: Run, order: Precedence, task: TaskId, now: float) -> str:
    """`for tasks 3 and 5 of project (3 runs since 40 s), and for all of diff (7 not done)`"""
    alone, steps = order.parents(task)
    states = run.tasks.states
    by_step: dict[int, list[int]] = {}
    for parent in alone:
        if states[parent] != TaskState.DONE:
            by_step.setdefault(order.step_of(parent), []).append(parent)
    parts = [
        f"{_listed(parents)} of {order.graph.steps[step].name}{_since(run, parents, now)}"
        for step, parents in by_step.items()
    ]
    for step in steps:
        first, past = order.starts[step], order.starts[step + 1]
        left = past - first - states[first:past].count(TaskState.DONE)
        if left:
            parts.append(f"all of {order.graph.steps[step].name} ({left:,} not done)")
    return f"for {', and for '.join(parts)}"


def cut_off_by(
    order: Precedence, task: TaskId, has_failed: Asked, is_cut_off: Asked = lambda _: True
) -> str:
    """The tasks that failed for good among those that it waits for, directly or not.

    Who does not know what was cut off need not say: before what is done all is done.
    """
    failed: set[int] = set()
    seen: set[int] = set()
    steps_seen: set[int] = set()
    look = [int(task)]
    while look:
        alone, steps = order.parents(look.pop())
        for step in set(steps) - steps_seen:
            steps_seen.add(step)
            alone.extend(range(order.starts[step], order.starts[step + 1]))
        for parent in alone:
            if has_failed(parent):
                failed.add(parent)
            elif parent not in seen and is_cut_off(parent):
                seen.add(parent)
                look.append(parent)
    which = [TaskId(one) for one in sorted(failed)]
    steps_named = {order.graph.steps[order.step_of(one)].name for one in which}
    return f"for {_listed(which)} of {', '.join(sorted(steps_named))}, which failed for good"


def _listed(tasks: Sequence[int]) -> str:
    if len(tasks) == 1:
        return f"task {tasks[0]}"
    if len(tasks) > _NAMED:
        return f"{counted(len(tasks), 'task')}, {', '.join(map(str, tasks[:_NAMED]))} and more,"
    return f"tasks {', '.join(map(str, tasks[:-1]))} and {tasks[-1]}"


def _since(run: Run, tasks: Sequence[int], now: float) -> str:
    for task in tasks:
        for copy in run.tasks.running.get(TaskId(task), ()):
            if task in run.pool.machines[copy.machine].active:
                return f" ({task} runs since {in_words(now - copy.since)})"
    return ""
