"""Provisioning: which machines a bag buys, and when."""

from typing import Protocol

from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import Plan
from bats.master.brain.planning.room_for_error import Means
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.policies.paid_time import PaidTime
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.prospects import Ahead
from bats.master.brain.views.readonly import ClusterView, RunView


@dataclass(frozen=True, slots=True)
class Aim:
    """The aim that a bag's machines are led to: a mix to be kept, or who stays for how long."""

    to: Plan | Ahead | None  # None: nothing finishes for the money; what does most for it, then
    cause: str


class Provisioner(Protocol):
    """The policy of which machines a bag buys, and when.

    One of your own is best a subclass of one that is there.
    """

    time: PaidTime
    """The use and payment of machines that are there."""

    room: float
    """The room of plans for what is not known yet, in standard errors."""

    samples: bool
    """True if runtimes are learned first; if not, all machines are had from the beginning."""

    learns_on: bool
    """True if work goes on while the sample is completed and nobody has chosen a schedule yet.

    If not, the sample has its size first, and costs what is reserved until somebody chooses.
    """

    # --- what to buy -----------------------------------------------------------------------------

    def at_first(self, cluster: ClusterView) -> int:
        """The machines of a priced kind to have from the beginning, where there is no sample."""
        return cluster.offering.max_machines

    def plan(
        self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str
    ) -> Aim | None:
        """The aim when something has happened; None: all stays as it is."""
        ...

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        """Likewise from time to time and when paid time ends, if reality leaves the plan."""
        ...

    def most_for_money(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Mix:
        """The aim to go on with if nothing finishes for the money."""
        ...

    def interval_seconds(self, run: RunView, shortest: float) -> float:
        """The seconds from look to look; `shortest` is a small part of an ATU."""
        ...

    # --- what to tell ----------------------------------------------------------------------------

    def offered(self, run: RunView) -> tuple[Cluster, ...]:
        """The clusters that the schedules on offer reckon with."""
        ...

    def allowed(self, run: RunView, schedule: Schedule, money: Money) -> Money:
        """The money to spend from the choice of a schedule on that promises to do with so much."""
        ...

    def least_money(self, run: RunView, room: float = 0.0) -> Money | None:
        """The money to finish from now on, with so much room; None if no machines can do it."""
        ...

    def means(self, run: RunView) -> Means | None:
        """The means by which predictions know its room for error; None if it keeps none."""
        ...
