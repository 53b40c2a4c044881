"""The words of planning: what is known of a cluster, and a mix of machines bought from them."""

from bats.common.offering import Offering
from bats.common.records import dataclass

Mix = tuple[int, ...]
"""Numbers of machines in the clusters' order (a = (a_1..a_nc) in the paper)."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An offering as a planner knows it: T is the mean runtime of a task on one slot."""

    offering: Offering
    mean_seconds: float  # T_i
    limit: int  # A_i: how many may be had now
    start_seconds: float = 0.0  # learned: from request to first task
    boot_seconds: float = 0.0  # the part of it that is charged

    @property
    def speed(self) -> float:
        """Tasks per second that one machine finishes."""
        return self.offering.slots / self.mean_seconds
