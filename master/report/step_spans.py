"""Steps of a workflow: when each was at work, and the way through them that ended last."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from bats.common.messages import BagId, Outcome
from bats.common.records import dataclass
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.views.told.view import StepView
from bats.master.report.svg import Drawing, duration
from bats.master.store.reader import Reader

_ROW: Final = 22
_MOST: Final = 60  # steps that are drawn
_NAMES: Final = 220  # of the width


@dataclass(frozen=True, slots=True)
class StepSpan:
    view: StepView
    first: float  # when a task of it began, in seconds of the bag
    last: float  # and the last one ended
    mean_seconds: float
    on_path: int  # of its tasks, on the way that ended last
    path_seconds: float


def spans(
    reader: Reader, number: BagId, graph: Graph, views: Sequence[StepView]
) -> tuple[StepSpan, ...]:
    """A pass over the results."""
    starts = graph.starts()
    times: dict[int, tuple[float, float]] = {}
    for row in reader.every_task(number):
        if row.outcome is Outcome.DONE:
            times[row.task] = row.started, row.started + row.wall_seconds
    by_step: list[list[tuple[float, float]]] = [[] for _ in graph.steps]
    for task, span in times.items():
        by_step[bisect_right(starts, task) - 1].append(span)
    path = longest(graph, times)
    found = []
    for step, (view, mine) in enumerate(zip(views, by_step, strict=True)):
        on_path = [task for task in path if starts[step] <= task < starts[step + 1]]
        found.append(
            StepSpan(
                view,
                min((begin for begin, _ in mine), default=0.0),
                max((end for _, end in mine), default=0.0),
                sum(end - begin for begin, end in mine) / len(mine) if mine else 0.0,
                len(on_path),
                sum(times[task][1] - times[task][0] for task in on_path),
            )
        )
    return tuple(found)


def longest(graph: Graph, times: Mapping[int, tuple[float, float]]) -> list[int]:
    """From the task that ended last back: of those that it waited for, the one that ended last."""
    if not times:
        return []
    starts, flat = graph.starts(), graph.pairs()
    parents: dict[int, list[int]] = {}
    for parent, child in zip(flat[::2], flat[1::2], strict=True):
        parents.setdefault(child, []).append(parent)
    task = max(times, key=lambda one: times[one][1])
    path = [task]
    while True:
        step = bisect_right(starts, path[-1]) - 1
        before = list(parents.get(path[-1], ()))
        for ahead, behind in graph.barriers:
            if behind == step:
                before += range(starts[ahead], starts[ahead + 1])
        before = [one for one in before if one in times]
        if not before:
            return path[::-1]
        path.append(max(before, key=lambda one: times[one][1]))


HEADS: Final = ("Step", "Tasks", "Done", "Failed", "Cut off", "A task took", "On the longest way")


def rows(steps: Sequence[StepSpan]) -> list[tuple[str, ...]]:
    return [
        (
            step.view.name,
            f"{step.view.total:,}",
            f"{step.view.done:,}",
            f"{step.view.failed:,}",
            f"{step.view.cut_off:,}",
            duration(step.mean_seconds) if step.last else "",
            f"{step.on_path:,}" if step.on_path else "",
        )
        for step in steps
    ]


def words(steps: Sequence[StepSpan]) -> str:
    """The part of the time that the way took which ended last."""
    end = max((step.last for step in steps), default=0.0)
    held = [step for step in steps if step.on_path]
    if not held or not end:
        return ""
    tasks, seconds = sum(step.on_path for step in held), sum(step.path_seconds for step in held)
    return (
        f"The way that ended last leads through {tasks:,} tasks of {len(held):,} of the steps, the "
        f"dark ones: {duration(seconds)} of work in {duration(end)}."
    )


def drawing(steps: Sequence[StepSpan], width: int) -> str:
    """A bar for each step, from its first task to its last."""
    end = max((step.last for step in steps), default=0.0) or 1.0
    shown = steps[:_MOST]
    drawn = Drawing(width, _ROW * len(shown), "The time in which each step was at work")
    scale = (width - _NAMES) / end
    for row, step in enumerate(shown):
        drawn.words(0, row * _ROW + 15, step.view.name[:30])
        if step.last:
            said = f"{step.view.name}: {duration(step.first)} to {duration(step.last)}"
            length = max(2.0, (step.last - step.first) * scale)
            kind = "task" if step.on_path else "copy"
            drawn.rectangle(_NAMES + step.first * scale, row * _ROW + 4, length, 14, kind, said)
    return drawn.text()
