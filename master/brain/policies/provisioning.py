"""Provisioning: which machines a bag buys, and when."""

from dataclasses import dataclass
from typing import Protocol

from bats.common.money import Money
from bats.master.brain.planning.means import Means
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.problem import Plan
from bats.master.brain.policies.paid_time import PaidTime
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.prospects import Ahead
from bats.master.brain.views.readonly import RunView


@dataclass(frozen=True, slots=True)
class Aim:
    """What the machines of a bag are led to: a mix that will be kept, or who stays for how long."""

    to: Plan | Ahead | None  # None: nothing finishes for the money; what does most for it, then
    cause: str


class Provisioner(Protocol):
    """Which machines a bag buys, and when.

    One of your own is best a subclass of one that is there.
    """

    time: PaidTime
    """How the machines that are there are used and paid."""

    room: float
    """What plans keep for what is not known yet, in standard errors."""

    samples: bool
    """Whether runtimes are learned first; if not, all machines are had from the beginning."""

    learns_on: bool
    """Whether work goes on while the sample is completed and nobody has chosen a schedule yet.

    If not, the sample has its size first, and costs what is reserved until somebody chooses.
    """

    # --- what to buy -----------------------------------------------------------------------------

    def plan(
        self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str
    ) -> Aim | None:
        """When something has happened; None: all stays as it is."""
        ...

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        """Likewise from time to time and when paid time ends, if reality leaves the plan."""
        ...

    def most_for_money(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Mix:
        """What to go on with if nothing finishes for the money."""
        ...

    def interval_seconds(self, run: RunView, shortest: float) -> float:
        """How often to watch; `shortest` is a small part of an ATU."""
        ...

    # --- what to tell ----------------------------------------------------------------------------

    def offered(self, run: RunView) -> tuple[Cluster, ...]:
        """What the schedules on offer reckon with."""
        ...

    def allowed(self, run: RunView, by_schedule: Money) -> Money:
        """What may be spent from the choice of a schedule on that promises to do with so much."""
        ...

    def least_money(self, run: RunView, room: float = 0.0) -> Money | None:
        """What finishing takes from now on, with so much room; None if no machines can do it."""
        ...

    def means(self, run: RunView) -> Means | None:
        """What predictions may know of its room for error; None if it keeps none."""
        ...
