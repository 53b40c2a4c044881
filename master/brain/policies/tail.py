"""The tail: which running task an idle machine should run a second time (T ch. 5; science.md, 9).

For a task running on source s since τs: τc is τs on the canonical cluster, tc the mean of the
known runtimes greater than τc, ts and tt what that makes on the source and on the target t.
A copy on t is worth while when ts - τs > tt; of those the longest remaining is taken. A task with
several copies counts with the one that is expected to end first.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from bats.common.messages import TaskId
from bats.master.brain.books.machine import Machine
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import Attempt, TaskState
from bats.master.brain.learning.sample_size import sample_size
from bats.master.brain.views.investments import _converter, _estimate


class Candidate(NamedTuple):
    """A running task as seen from an idle machine."""

    task: TaskId
    remaining: float  # ts - τs, of the copy expected to end first
    afresh: float  # tt
    slower: bool  # runs only on machines slower than the idle one


class Strategy(Protocol):
    def __call__(self, run: Run, machine: Machine) -> TaskId | None:
        """The task to copy to this idle machine, if any."""
        ...


class Oracle(Protocol):
    """True runtimes, which only a simulator has."""

    def __call__(self, task: TaskId, cluster: int) -> float: ...


def replicate(run: Run, machine: Machine) -> TaskId | None:
    """What to copy to an idle machine, by the run's strategy."""
    if not run.settings.replicate:
        return None
    return STRATEGIES[run.settings.tail](run, machine)


def migrate(run: Run, machine: Machine) -> TaskId | None:
    """Before the bag is empty: a task to restart here, its slower original to be cancelled.

    Only migration+replication does this, and only when at most a sample's worth of tasks waits.
    """
    if run.settings.tail != MIGRATION or not run.settings.replicate or not run.tasks.waiting:
        return None
    if run.tasks.waiting > sample_size(len(run.tasks)):
        return None
    task = stochastic(run, machine)
    if task is not None:
        run.cancel_copies(task)
    return task


def none(run: Run, machine: Machine) -> TaskId | None:  # noqa: ARG001
    return None


def random(run: Run, machine: Machine) -> TaskId | None:
    """Any task that runs on slower machines only."""
    slower = [c.task for c in _candidates(run, machine) if c.slower]
    return run.rng.choice(slower) if slower else None


def stochastic(run: Run, machine: Machine) -> TaskId | None:
    """The task with the most left of those that should be sooner done here."""
    return _longest(c for c in _candidates(run, machine) if c.remaining > c.afresh)


def stochastic_random(run: Run, machine: Machine) -> TaskId | None:
    task = stochastic(run, machine)
    return random(run, machine) if task is None else task


def perfect(run: Run, machine: Machine) -> TaskId | None:
    """As stochastic, knowing the true runtimes; for the simulator."""
    truth: Oracle = run.oracle  # type: ignore[assignment]
    best: tuple[float, TaskId] | None = None
    for task, copies in running_elsewhere(run, machine):
        remaining = min(_true_remaining(run, truth, copy) for copy in copies)
        if remaining > truth(task, machine.cluster) and (best is None or remaining > best[0]):
            best = (remaining, task)
    return None if best is None else best[1]


NONE: Final = "none"
MIGRATION: Final = "migration+replication"
PERFECT: Final = "perfect"

STRATEGIES: Final[dict[str, Strategy]] = {
    NONE: none,
    "random": random,
    "stochastic": stochastic,
    "stochastic+random": stochastic_random,
    MIGRATION: stochastic,
    PERFECT: perfect,
}
"""Every strategy by its name; one of your own is one more entry."""


def running_elsewhere(run: Run, machine: Machine) -> Iterator[tuple[TaskId, list[Attempt]]]:
    """Tasks that this machine could help with, and who runs them: unfinished, and not on it."""
    for task, copies in run.tasks.running.items():
        if run.tasks.states[task] == TaskState.RUNNING and not any(
            copy.machine == machine.id for copy in copies
        ):
            yield task, copies


def _candidates(run: Run, machine: Machine) -> Iterator[Candidate]:
    if not run.canonical.count:
        return
    to_target = _converter(run, machine.cluster)
    speed = to_target(run.canonical.mean_done)
    typical = [_converter(run, c.index)(run.canonical.mean_done) for c in run.clusters]
    for task, copies in running_elsewhere(run, machine):
        remaining, canonical = min(_estimate(run, copy) for copy in copies)
        slower = all(typical[run.machines[c.machine].cluster] > speed * (1 + 1e-9) for c in copies)
        yield Candidate(task, remaining, to_target(canonical), slower)


def _true_remaining(run: Run, truth: Oracle, copy: Attempt) -> float:
    source = run.machines[copy.machine]
    return truth(copy.task, source.cluster) - (run.now - copy.since)


def _longest(candidates: Iterator[Candidate]) -> TaskId | None:
    best = max(candidates, key=lambda c: (c.remaining, -c.task), default=None)
    return None if best is None else best.task
