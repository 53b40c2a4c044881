"""The runtimes known of a cluster, completed by what still runs."""

from bats.common.messages import TaskId
from bats.master.brain.censored import completed
from bats.master.brain.settings import Sampling
from bats.master.brain.state import ClusterState, Run
from bats.master.brain.taskbook import TaskState


def known_runtimes(run: Run, c: ClusterState) -> list[float]:
    """Rising; empty while nothing is known.

    A sample that clusters share is what all of them have done: what they all still run belongs
    to it.
    """
    done = c.profile.sample()
    if not done:
        return []
    shared = run.settings.sampling is Sampling.REGRESSION
    elapsed: dict[TaskId, float] = {}
    for machine in run.alive() if shared else run.living[c.index].values():
        for task, attempt in machine.active.items():
            if run.tasks.states[task] != TaskState.DONE:
                tau = run.to_canonical(machine.cluster, run.now - attempt.since)
                elapsed[task] = max(elapsed.get(task, 0.0), tau)
    return completed(done, [c.line.convert(tau) for tau in elapsed.values()])
