"""The runtimes known of a cluster, completed by what still runs and by what was stopped."""

from collections.abc import Iterable

from bats.common.messages import TaskId
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
