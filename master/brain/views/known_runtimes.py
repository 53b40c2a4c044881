"""The runtimes known of a cluster, completed by what still runs and by what was stopped."""

from collections.abc import Iterable

from bats.common.messages import TaskId
from bats.master.brain.learning.machine_speeds import LEAST_TASKS
from bats.master.brain.learning.still_running import completed
from bats.master.brain.views.readonly import ClusterView, MachineView, RunView, TaskState


def known_runtimes(run: RunView, c: ClusterView) -> list[float]:
    """Rising; empty while nothing is known.

    A sample that clusters share is what all of them have done: what they all still run belongs
    to it.
    """
    done = c.profile.sample()
    if not done:
        return []
    elapsed = longer_than(
        run, run.pool.alive() if run.sampler.shared else run.pool.living[c.index].values()
    )
    return completed(done, [c.line.convert(tau) for tau in elapsed.values()])


def speeds(run: RunView) -> list[float | None]:
    """The speed of each offering for the tasks that it had, 1 where they take as long as usual.

    Usual is the mean of all that ended, of each step of a workflow. None: too few have ended there.
    """
    found: list[float | None] = []
    for c in run.clusters:
        if run.steps is not None:
            tasks, seconds, usual = run.steps.on(c.index)
        else:
            tasks, seconds = c.profile.count, c.profile.count and c.profile.mean_done
            usual = run.canonical.mean_done if run.canonical.count else 0.0
        known = tasks >= LEAST_TASKS and seconds > 0 and usual > 0
        found.append(usual / seconds if known else None)
    return found


def longer_than(run: RunView, machines: Iterable[MachineView]) -> dict[TaskId, float]:
    """Times that tasks not done are known to take longer than, on the canonical cluster.

    Those that run on these machines, and those that were stopped.
    """
    found = {
        task: run.outlasted(task)
        for task in run.tasks.stopped
        if run.tasks.states[task] in (TaskState.WAITING, TaskState.RUNNING)
    }
    for machine in machines:
        for task, attempt in machine.active.items():
            if run.tasks.states[task] != TaskState.DONE:
                tau = run.to_canonical(machine.cluster, run.now - attempt.since)
                found[task] = max(found.get(task, 0.0), tau)
    return found
