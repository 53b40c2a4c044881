"""The order among the tasks of a workflow that are left, for predictions of what they will take."""

from bisect import bisect_right
from collections.abc import Mapping

from bats.master.brain.prediction.workflow_rollout import OrderLeft
from bats.master.brain.views import investments
from bats.master.brain.views.readonly import RunView, TaskState


def order_left(run: RunView) -> OrderLeft | None:
    """The order among tasks that are not done; None of a bag."""
    graph = run.settings.graph
    if graph is None or run.steps is None:
        return None
    open_states = (TaskState.WAITING, TaskState.BLOCKED, TaskState.RUNNING)
    states, starts, flat = run.tasks.states, graph.starts(), graph.pairs()
    left = [task for task in run.tasks.in_order() if states[task] in open_states]
    place = {task: k for k, task in enumerate(left)}
    step = [bisect_right(starts, task) - 1 for task in left]
    children: list[list[int]] = [[] for _ in left]
    waits = [0] * len(left)
    for parent, child in zip(flat[::2], flat[1::2], strict=True):
        if parent in place and child in place:
            children[place[parent]].append(place[child])
            waits[place[child]] += 1
    for before, after in graph.barriers:
        ahead = [k for k, one in enumerate(step) if one == before]
        behind = [k for k, one in enumerate(step) if one == after]
        if ahead and behind:  # the barrier is a task of no length, of a step of its own
            gate = len(children)
            children.append(behind)
            step.append(len(graph.steps))
            waits.append(len(ahead))
            for k in ahead:
                children[k].append(gate)
            for k in behind:
                waits[k] += 1
    return OrderLeft(
        step,
        children,
        waits,
        [run.steps.sample(k, run.to_canonical) for k in range(len(graph.steps))],
        _running(run, place),
        _factors(run),
    )


def _running(run: RunView, place: Mapping[int, int]) -> list[tuple[int, int, float]]:
    """Tasks that run, each on the machine that should end it first."""
    found = []
    for task, copies in run.tasks.running.items():
        if task in place:
            copy = min(copies, key=lambda one: investments.estimate_of(run, one)[0])
            cluster = run.pool.machines[copy.machine].cluster
            tau = run.to_canonical(cluster, run.now - copy.since)
            found.append((place[task], cluster, max(tau, run.outlasted(task))))
    return found


def _factors(run: RunView) -> list[float]:
    """Of each cluster: what a task of mean length takes there, to what it takes canonically."""
    mean = run.canonical.mean_done if run.canonical.count else 1.0
    return [c.line.convert(mean) / mean for c in run.clusters]
