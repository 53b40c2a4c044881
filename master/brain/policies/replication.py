"""The tail: which running task an idle machine should run a second time (T ch. 5).

For a task running on source s since τs: τc is τs on the canonical cluster, tc the mean of the
known runtimes greater than τc, ts and tt what that makes on the source and on the target t.
A copy on t is worth while when ts - τs > tt; of those the longest remaining is taken. A task with
several copies counts with the one that is expected to end first.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from bats.common.messages import TaskId
from bats.master.brain.learning.sample_size import sample_size
from bats.master.brain.prediction.rollout import (
    CHANCE,
    NO_COPIES,
    SOONER,
    SOONER_OR_CHANCE,
    Copying,
)
from bats.master.brain.views.investments import converter, estimate_of
from bats.master.brain.views.readonly import (
    AttemptView,
    ClusterView,
    MachineView,
    RunView,
    TaskState,
)


class Pools(Protocol):
    """The rules of a strategy for unreliable and reliable machines. All times are seconds."""

    @property
    def chosen_by(self) -> str:
        """The name or the formula by which the strategy is chosen; "" if it is given."""
        ...

    def strategy(self, run: RunView) -> str:
        """The one that the bag goes by now, as it is written."""
        ...

    def is_known(self, run: RunView) -> bool:
        """True once there are results enough to choose by."""
        ...

    def begins(self, run: RunView, machine: MachineView) -> bool:
        """True if this machine takes tasks that wait, before the tail."""
        ...

    def next(self, run: RunView, machine: MachineView) -> TaskId | None:
        """The task of which this idle machine runs the next instance, in the tail."""
        ...

    def deadline_at(self, run: RunView, machine: MachineView, attempt: AttemptView) -> float:
        """The time when the attempt is given up."""
        ...

    def due_at(self, run: RunView) -> float:
        """The time when another instance is due next, in the tail."""
        ...

    def tail_begins(self, run: RunView) -> bool: ...
    def hopeless(self, run: RunView) -> bool:
        """True if nothing will come of unreliable machines any more."""
        ...

    def wanted(self, run: RunView, cluster: ClusterView) -> int:
        """The number of machines to have of this kind."""
        ...


class Replicator(Protocol):
    """The policy of which running tasks idle machines run a second time, and when.

    One of your own is a subclass that says what `copy` gives; the rest is as usual.
    """

    foreseen: Copying = NO_COPIES
    """The copying that predictions may count on; as long as it does not tell, none."""

    clairvoyant: bool = False
    """True if it must know how long tasks will take, which only a simulator can tell."""

    def copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        """The task to run on this idle machine, too, for as long as its time is paid for anyway."""
        ...

    def paid_copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        """Likewise, where the machine would have to be paid on for it."""
        return sooner_here(run, machine)

    def move(self, run: RunView, machine: MachineView) -> TaskId | None:
        """A task to restart here before the bag is empty, its slower original to be cancelled."""
        return None

    def pools(self) -> Pools | None:
        """The rules of one that sends to unreliable and to reliable machines; else None."""
        return None


class Candidate(NamedTuple):
    """A running task as seen from an idle machine."""

    task: TaskId
    remaining: float  # ts - τs, of the copy expected to end first
    afresh: float  # tt
    slower: bool  # runs only on machines slower than the idle one


class NoCopies(Replicator):
    """Every task runs once."""

    def copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        return None

    def paid_copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        return None


class Random(Replicator):
    """Any task that runs on slower machines only."""

    foreseen = CHANCE

    def copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        return slower_elsewhere(run, machine)


class Stochastic(Replicator):
    """The task with the most left of those that should be sooner done here."""

    foreseen = SOONER

    def copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        return sooner_here(run, machine)


class StochasticElseRandom(Replicator):
    """The stochastic task; where there is none, any that runs on slower machines only."""

    foreseen = SOONER_OR_CHANCE

    def copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        task = sooner_here(run, machine)
        return slower_elsewhere(run, machine) if task is None else task


class Migration(Stochastic):
    """Tasks move to faster machines as soon as no more than a sample's worth of them waits.

    Predictions do not foresee moves, only the copies.
    """

    def move(self, run: RunView, machine: MachineView) -> TaskId | None:
        if not 0 < run.tasks.waiting <= sample_size(len(run.tasks)):
            return None
        return sooner_here(run, machine)


class Perfect(Stochastic):
    """The choice of stochastic, knowing the true runtimes; for the simulator."""

    clairvoyant = True

    def copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        best: tuple[float, TaskId] | None = None
        for task, copies in running_elsewhere(run, machine):
            remaining = min(_true_remaining(run, copy) for copy in copies)
            afresh = run.true_seconds(task, machine.cluster)
            if remaining > afresh and (best is None or remaining > best[0]):
                best = (remaining, task)
        return None if best is None else best[1]


def sooner_here(run: RunView, machine: MachineView) -> TaskId | None:
    """The task with the most left of those that should be done sooner on this machine.

    Tasks that others wait for go before those that nothing waits for.
    """
    candidates = (c for c in _candidates(run, machine) if c.remaining > c.afresh)
    best = max(
        candidates,
        key=lambda c: (run.tasks.holds_up(c.task) > 0, c.remaining, -c.task),
        default=None,
    )
    return None if best is None else best.task


def slower_elsewhere(run: RunView, machine: MachineView) -> TaskId | None:
    """Any task that runs on slower machines only, of those that others wait for if there are."""
    slower = [c.task for c in _candidates(run, machine) if c.slower]
    slower = [task for task in slower if run.tasks.holds_up(task)] or slower
    return run.rng.choice(slower) if slower else None


def running_elsewhere(
    run: RunView, machine: MachineView
) -> Iterator[tuple[TaskId, Sequence[AttemptView]]]:
    """Tasks that this machine could help with, and who runs them: unfinished, and not on it."""
    for task, copies in run.tasks.running.items():
        if run.tasks.states[task] == TaskState.RUNNING and not any(
            copy.machine == machine.id or task in run.pool.machines[copy.machine].collecting
            for copy in copies
        ):
            yield task, copies


def _candidates(run: RunView, machine: MachineView) -> Iterator[Candidate]:
    if not run.canonical.count:
        return
    to_target = converter(run, machine.cluster)
    speed = to_target(run.canonical.mean_done)
    typical = [converter(run, c.index)(run.canonical.mean_done) for c in run.clusters]
    for task, copies in running_elsewhere(run, machine):
        remaining, canonical = min(estimate_of(run, copy) for copy in copies)
        slower = all(
            typical[run.pool.machines[c.machine].cluster] > speed * (1 + 1e-9) for c in copies
        )
        yield Candidate(task, remaining, to_target(canonical), slower)


def _true_remaining(run: RunView, copy: AttemptView) -> float:
    source = run.pool.machines[copy.machine]
    return run.true_seconds(copy.task, source.cluster) - (run.now - copy.since)
