"""The order among the tasks of a workflow that are left, for predictions of what they will take."""

from bisect import bisect_right
from collections.abc import Mapping

from bats.master.brain.learning.still_running import completed
from bats.master.brain.prediction.workflow_rollout import OrderLeft
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.views import investments
from bats.master.brain.views.readonly import RunView, StepsView, TaskState


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
        step, children, waits, step_samples(run, run.steps, graph), _running(run, place)
    )


def step_samples(run: RunView, steps: StepsView, graph: Graph) -> list[list[float]]:
    """The runtimes of each step, completed by those of its tasks that still run."""
    starts = graph.starts()
    elapsed: list[list[float]] = [[] for _ in graph.steps]
    for machine in run.pool.alive():
        for task, attempt in machine.active.items():
            tau = run.to_canonical(machine.cluster, run.now - attempt.since)
            elapsed[bisect_right(starts, task) - 1].append(tau)
    done = [steps.sample(k, run.to_canonical) for k in range(len(graph.steps))]
    return [
        completed(known, running) if known else []
        for known, running in zip(done, elapsed, strict=True)
    ]


def _running(run: RunView, place: Mapping[int, int]) -> list[tuple[int, float]]:
    """Tasks that run, and what the first copy of each should have left."""
    return [
        (place[task], min(investments.estimate_of(run, copy)[0] for copy in copies))
        for task, copies in run.tasks.running.items()
        if task in place
    ]
