"""The course of a bag, from its books: ranks by what is known, and levels of parallelism."""

from array import array

from bats.master.brain.protocol.course import Course
from bats.master.brain.protocol.events import Order
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.views.order.work_left import step_means
from bats.master.brain.views.readonly import RunView


def task_seconds(run: RunView, graph: Graph) -> "array[float]":
    """The runtime of each task: recorded, else the mean of its step, else of the bag, else 1."""
    seconds = graph.took()
    means = step_means(run) or [None] * len(graph.steps)
    usual = run.canonical.mean_done if run.canonical.count else _mean(seconds) or 1.0
    starts = graph.starts()
    for step, mean in enumerate(means):
        for task in range(starts[step], starts[step + 1]):
            seconds[task] = seconds[task] or (usual if mean is None else mean)
    return seconds


def course(run: RunView, generations: float) -> Course:
    """`generations` are so many to look ahead, 0 none. Ranks are told of a bag ordered by them."""
    tasks, graph = run.tasks, run.settings.graph
    mean = run.canonical.mean_done if run.canonical.count else 0.0
    level = tasks.level(generations) if generations else 0
    ranked = tasks.ranked
    if graph is None or ranked is None or run.order is Order.RANDOM:
        each = mean or 1.0
        left = each if tasks.waiting else 0.0
        return Course(len(tasks), tasks.unfinished, each, left, left, mean, level)
    known = mean or _mean(graph.took())
    return Course(
        len(tasks), tasks.unfinished, ranked.critical, ranked.longest_left(tasks.is_begun),
        ranked.next_rank, known, level,
    )  # fmt: skip


def _mean(seconds: "array[float]") -> float:
    known = [one for one in seconds if one]
    return sum(known) / len(known) if known else 0.0
