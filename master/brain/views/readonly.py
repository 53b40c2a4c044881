"""The books as views and policies see them: to be read, and not changed.

What the engine holds fits these protocols as it is, so that looking costs nothing. The type checker
refuses whoever would change something through them.
"""

import random
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Protocol

from bats.common.messages import MachineId, TaskId
from bats.common.money import Money
from bats.master.brain.books.choice import Told
from bats.master.brain.books.machine import MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.learning.runtime_law import Law
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.planners import Planner
from bats.master.brain.planning.problem import BySteps
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.commands import Pause
from bats.master.brain.protocol.events import Allotted, Order
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.machine_views import (
    ClusterView,
    MachineView,
    ProfileView,
    StepsView,
)
from bats.master.brain.views.task_views import AttemptView, InstancesView, TasksView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bats.master.brain.policies.provisioning import Provisioner
    from bats.master.brain.policies.replication import Replicator
    from bats.master.brain.policies.samplers import Sampler

__all__ = [
    "AttemptView",
    "ClusterView",
    "InstancesView",
    "LedgerView",
    "MachineState",
    "MachineView",
    "Phase",
    "PlanView",
    "ProfileView",
    "RunView",
    "SampleView",
    "StepsView",
    "TaskState",
    "TasksView",
]


class SampleView(Protocol):
    """The state of the sample; of each cluster what is told by its index."""

    @property
    def size(self) -> int: ...
    @property
    def pairs(self) -> int: ...
    @property
    def replicated(self) -> Sequence[TaskId]: ...
    @property
    def left(self) -> Sequence[Sequence[TaskId]]: ...
    @property
    def open(self) -> Sequence[AbstractSet[TaskId]]: ...
    @property
    def observed(self) -> Sequence[Mapping[TaskId, float]]: ...


class LedgerView(Protocol):
    @property
    def limit(self) -> Money | None: ...
    @property
    def capped(self) -> bool: ...
    @property
    def settled(self) -> Money: ...
    @property
    def committed(self) -> Money: ...
    @property
    def left(self) -> Money | None: ...
    def left_of(self, budget: Money | None) -> Money | None: ...
    def covers(self, amount: Money) -> bool: ...
    def reserved_for(self, machine: MachineId) -> Money: ...


class PlanView(Protocol):
    @property
    def mix(self) -> Mix: ...
    @property
    def tasks(self) -> int: ...
    @property
    def makespan_seconds(self) -> float: ...
    @property
    def at(self) -> float: ...
    @property
    def by_step(self) -> BySteps: ...
    @property
    def done(self) -> int: ...


class PoolView(Protocol):
    @property
    def machines(self) -> Mapping[MachineId, MachineView]: ...
    @property
    def living(self) -> Sequence[Mapping[MachineId, MachineView]]: ...
    def alive(self) -> Sequence[MachineView]: ...
    def staying(self, cluster: int) -> Sequence[MachineView]: ...


class ChoiceView(Protocol):
    @property
    def name(self) -> str:
        """The chosen schedule's."""
        ...

    @property
    def budget(self) -> Money | None: ...
    @property
    def deadline_at(self) -> float | None: ...
    @property
    def missed(self) -> bool: ...
    @property
    def delta_n(self) -> int: ...
    @property
    def cushion(self) -> Money: ...
    @property
    def asked(self) -> Told | None:
        """Schedules of which it is being found out what they come to."""
        ...

    @property
    def offered(self) -> Told | None: ...
    @property
    def told(self) -> Told | None:
        """The promise that came with what was chosen."""
        ...

    @property
    def looks(self) -> Sequence[Told]:
        """The same at each look since."""
        ...


class ForeseenView(Protocol):
    """Runtimes by the law that they follow. All seconds are canonical."""

    @property
    def law(self) -> Law: ...
    @property
    def seconds(self) -> "NDArray[np.float64]":
        """The mean foreseen of every task."""
        ...

    def lasts(self, task: int, tau: float) -> float: ...
    def share_within(self, task: int, seconds: float) -> float: ...
    def of(self, tasks: Sequence[bool]) -> tuple[float, float]:
        """The sum over these, and its relative error."""
        ...


class RunView(Protocol):
    """One bag being run."""

    @property
    def settings(self) -> Settings: ...
    @property
    def planner(self) -> Planner: ...
    @property
    def provisioner(self) -> "Provisioner": ...
    @property
    def sampler(self) -> "Sampler": ...
    @property
    def replicator(self) -> "Replicator": ...
    @property
    def rng(self) -> random.Random:
        """The bag's own chance: whoever draws from it draws the same when it is replayed."""
        ...

    @property
    def now(self) -> float: ...
    @property
    def began_at(self) -> float: ...
    @property
    def due_at(self) -> float | None: ...
    @property
    def phase(self) -> Phase: ...
    @property
    def order(self) -> Order:
        """The order in which ready tasks are begun."""
        ...

    @property
    def tasks(self) -> TasksView: ...
    @property
    def clusters(self) -> Sequence[ClusterView]: ...
    @property
    def instances(self) -> InstancesView: ...
    @property
    def pool(self) -> PoolView: ...
    @property
    def ledger(self) -> LedgerView: ...
    @property
    def cap(self) -> Allotted: ...
    @property
    def waits_for_cap(self) -> bool: ...
    @property
    def canonical(self) -> ProfileView: ...
    @property
    def steps(self) -> StepsView | None:
        """Runtimes by step; None of a bag."""
        ...

    @property
    def foreseen(self) -> "ForeseenView | None":
        """The runtimes that its parameters foretell; None while no law is known to hold."""
        ...

    @property
    def sample(self) -> SampleView | None: ...
    @property
    def schedules(self) -> tuple[Schedule, ...]: ...
    @property
    def choice(self) -> ChoiceView: ...
    @property
    def plan(self) -> PlanView | None: ...
    @property
    def short_of_money(self) -> bool:
        """True if the user has been told that the budget will not do."""
        ...

    @property
    def pause(self) -> Pause | None: ...
    def spent(self) -> Money: ...
    def shown(self, amount: Money) -> str: ...
    def known(self) -> Sequence[ClusterView]: ...
    def planning_clusters(self, *, standing: bool = True) -> tuple[Cluster, ...]: ...
    def hazard(self, *clusters: int) -> float: ...
    def outlasted(self, task: TaskId) -> float: ...
    def to_canonical(self, cluster: int, seconds: float) -> float: ...
    def true_seconds(self, task: TaskId, cluster: int) -> float:
        """The true runtime of the task there: for clairvoyant policies, in a simulator."""
        ...
