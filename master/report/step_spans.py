"""Steps of a workflow: when each was at work, and the way through them that ended last."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from bats.common.messages import BagId, Outcome
from bats.common.records import dataclass
from bats.common.units import counted
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.views.told.view import StepView
from bats.master.report.svg import Drawing, duration
from bats.master.store.reader import Reader
from bats.master.sweep.workflow.drawing import facts_of

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


_LANE: Final = 9  # from one way to the next, and of a step from the edge
_MOST_LANES: Final = 8


def order_drawn(graph: Graph, width: float) -> str:
    """A line for each step, each below those that it waits for, with ways from these to it.

    The ways from one step share a lane; one for all tasks of a step is thick.
    """
    facts = sorted(facts_of(graph), key=lambda one: one["depth"])[:_MOST]
    row = {one["name"]: k for k, one in enumerate(facts)}
    ways = [
        (row[link["step"]], row[one["name"]], link["pairs"] is None)
        for one in facts
        for link in one["after"]
        if link["step"] in row and link["step"] != one["name"]  # tasks that wait for one another
    ]
    lane = _lanes([(before, behind) for before, behind, _ in ways])
    left = _LANE * (max(lane.values(), default=0) + 2.0)
    drawn = Drawing(width, _ROW * len(facts), "The steps and what each waits for")
    for before, behind, every in ways:
        x = left - _LANE * (lane[before] + 1)
        top, bottom = before * _ROW + 13.0, behind * _ROW + 9.0
        kind = "way every" if every else "way"
        drawn.path([(left, top), (x, top), (x, bottom), (left, bottom)], kind)
    for k, one in enumerate(facts):
        waits = ", ".join(
            f"all of {link['step']}" if link["pairs"] is None else link["step"]
            for link in one["after"]
        )
        drawn.dot(left, k * _ROW + 11, 4, "use-task", f"{one['name']}: after {waits or 'nothing'}")
        tasks = counted(one["tasks"], "task")
        drawn.words(left + 10, k * _ROW + 15, f"{one['name'][:30]}  · {tasks}")
    return drawn.text()


def _lanes(ways: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The lane of each step's ways, short ones first; while there are enough, none share one."""
    reach: dict[int, int] = {}
    for before, behind in ways:
        reach[before] = max(reach.get(before, before), behind)
    taken: list[set[int]] = [set() for _ in range(_MOST_LANES)]
    found = {}
    for before in sorted(reach, key=lambda one: (abs(reach[one] - one), one)):
        rows = set(range(before, reach[before]))
        free = (k for k, used in enumerate(taken) if not used & rows)
        found[before] = next(free, _MOST_LANES - 1)
        taken[found[before]] |= rows
    return found
