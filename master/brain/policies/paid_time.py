"""Paid time of machines: what may begin in it, and whether it is paid on."""

from enum import Enum
from typing import Protocol

from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.views.readonly import ClusterView, MachineView, RunView


class Copies(Enum):
    """The copies that an idle machine may run."""

    ANY = "any"
    SOONER = "sooner"  # what should end sooner there: it has to be paid for
    NONE = "none"


class PaidTime(Protocol):
    """The use and payment of machines that are there, whatever was planned to be bought."""

    patience_seconds: float
    """The seconds that a machine is waited for beyond its first ATU."""

    # --- what is begun ---------------------------------------------------------------------------

    def to_begin(self, run: RunView, machine: MachineView, *, paid_only: bool) -> float | None:
        """The seconds to reserve the machine so that one more task may begin on it.

        0: it may begin as it is; None: it may not. `paid_only`: the sample has no use for more
        than what is paid for anyway.
        """
        ...

    def to_sample(self, run: RunView, machine: MachineView) -> float | None:
        """Likewise for a task that the sample wants to run on this kind."""
        ...

    def copies(self, run: RunView, machine: MachineView) -> Copies: ...

    # --- who is paid on --------------------------------------------------------------------------

    def buys_work(self, run: RunView, machine: MachineView) -> bool:
        """True if more is bought with its next ATU than the end of what it runs."""
        ...

    def why_stop(self, run: RunView, machine: MachineView) -> str:
        """The reason why it should not be paid on when its paid time ends; "" when it should."""
        ...

    def to_pay(self, run: RunView, machine: MachineView) -> float | None:
        """The seconds to reserve a machine that is paid on; None: for an ATU more."""
        ...

    def to_renew(self, run: RunView, machine: MachineView) -> float | None:
        """The seconds to reserve one whose lease outlasts its ATUs; None: no longer than it is."""
        ...

    # --- how it is counted -----------------------------------------------------------------------

    def as_planned(self, cluster: ClusterView) -> Offering:
        """An offering as plans reckon with it."""
        ...

    def works_until(self, machine: MachineView, now: float) -> float:
        """The end of the time that counts as paid for."""
        ...

    def entered(self, machine: MachineView, now: float) -> int:
        """The number of ATUs that count as spent."""
        ...

    def spent(self, run: RunView) -> Money: ...
