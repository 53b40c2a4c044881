"""All policies by their names, and those that a bag's settings name."""

from dataclasses import dataclass
from typing import Final

from bats.master.brain.planning.planners import PLANNERS, Planner
from bats.master.brain.policies.replication import (
    Migration,
    NoCopies,
    Perfect,
    Random,
    Replicator,
    Stochastic,
    StochasticElseRandom,
)
from bats.master.brain.protocol.settings import Settings

REPLICATORS: Final[dict[str, Replicator]] = {
    "none": NoCopies(),
    "random": Random(),
    "stochastic": Stochastic(),
    "stochastic+random": StochasticElseRandom(),
    "migration+replication": Migration(),
    "perfect": Perfect(),
}
"""What idle machines copy, by the name that is given as `tail`; one of your own is one more."""


@dataclass(frozen=True, slots=True)
class Policies:
    """What decides for one bag."""

    replicator: Replicator
    planner: Planner


def policies_of(settings: Settings) -> Policies:
    return Policies(_replicator(settings), PLANNERS[settings.planner])


def _replicator(settings: Settings) -> Replicator:
    return REPLICATORS[settings.tail] if settings.replicate else NoCopies()
