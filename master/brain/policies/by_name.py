"""All policies by their names, and those that a bag's settings name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bats.master.brain.planning.planners import PLANNERS, Planner
from bats.master.brain.policies.by_timetable import ByTimetable
from bats.master.brain.policies.cost_blind import CostBlind, CostBlindByAtu
from bats.master.brain.policies.paper import Paper
from bats.master.brain.policies.provisioning import Provisioner
from bats.master.brain.policies.replication import (
    Migration,
    NoCopies,
    Perfect,
    Random,
    Replicator,
    Stochastic,
    StochasticElseRandom,
)
from bats.master.brain.policies.samplers import Implicit, NoSample, Regression, Sampler
from bats.master.brain.protocol.settings import Settings

TIMETABLE: Final = "timetable"
PAPER: Final = "paper"
COST_BLIND: Final = "cost-blind"

PROVISIONERS: Final[dict[str, Callable[[Settings], Provisioner]]] = {
    TIMETABLE: lambda settings: ByTimetable(settings.prudence),
    PAPER: lambda _settings: Paper(),
    COST_BLIND: lambda s: CostBlind(s.prudence) if s.prudence else CostBlindByAtu(),
}
"""Which machines are bought and when, by name; one of your own is one more entry."""

SAMPLERS: Final[dict[str, Sampler]] = {
    "regression": Regression(),
    "implicit": Implicit(),
    "none": NoSample(),
}
"""How runtimes are learned, by the name given as `sampling`; one of your own is one more."""

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

    provisioner: Provisioner
    sampler: Sampler
    replicator: Replicator
    planner: Planner


def policies_of(settings: Settings) -> Policies:
    return Policies(
        _provisioner(settings),
        SAMPLERS[settings.sampling],
        _replicator(settings),
        PLANNERS[settings.planner],
    )


def _provisioner(settings: Settings) -> Provisioner:
    """Until 0.1.0 it had no name: two other settings told which one it was, and still do."""
    name = settings.provisioner
    if SAMPLERS[settings.sampling].blind:
        name = COST_BLIND
    elif name == TIMETABLE and not settings.prudence:
        name = PAPER
    return PROVISIONERS[name](settings)


def _replicator(settings: Settings) -> Replicator:
    return REPLICATORS[settings.tail] if settings.replicate else NoCopies()
