"""The pilot of a workflow: some tasks that go through all steps early, so that each is known."""

from bats.master.brain.views.readonly import RunView, TaskState


def goes_on(run: RunView) -> bool:
    """True while a step of which nothing is known has a task that runs or could be begun."""
    return bool(_unknown(run, TaskState.WAITING, TaskState.RUNNING))


def has_begun_too_little(run: RunView) -> bool:
    """True while a step of which nothing is known could be begun, and nothing of it runs."""
    running = _unknown(run, TaskState.RUNNING)
    return bool(_unknown(run, TaskState.WAITING) - running)


def _unknown(run: RunView, *states: TaskState) -> set[int]:
    """Steps of which nothing is known, with a task in one of these states."""
    graph, steps = run.settings.graph, run.steps
    if graph is None or steps is None:
        return set()
    starts = graph.starts()
    return {
        step
        for step in range(len(graph.steps))
        if not steps.count(step)
        and any(state in run.tasks.states[starts[step] : starts[step + 1]] for state in states)
    }
