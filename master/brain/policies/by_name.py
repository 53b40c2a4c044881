"""All policies by their names, and those that a bag's settings name."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from bats.common.records import dataclass
from bats.master.brain.planning.planners import PLANNERS, Planner
from bats.master.brain.policies.by_timetable import ByTimetable
from bats.master.brain.policies.cost_blind import ByStrategy, CostBlind, CostBlindByAtu
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
from bats.master.brain.policies.two_pools import TwoPools
from bats.master.brain.policies.workflows.by_distributions import ByDistributions
from bats.master.brain.protocol.settings import Settings

TIMETABLE: Final = "timetable"
PAPER: Final = "paper"
COST_BLIND: Final = "cost-blind"
NTDMR: Final = "ntdmr"

PROVISIONERS: Final[dict[str, Callable[[Settings], Provisioner]]] = {
    TIMETABLE: lambda settings: ByTimetable(settings.prudence),
    PAPER: lambda _settings: Paper(),
    COST_BLIND: lambda s: CostBlind(s.prudence) if s.prudence else CostBlindByAtu(),
}
"""Provisioners by name: which machines are bought and when. One of your own is one more entry."""

SAMPLERS: Final[dict[str, Sampler]] = {
    "regression": Regression(),
    "implicit": Implicit(),
    "none": NoSample(),
}
"""Samplers, by the name given as `sampling`: how runtimes are learned. Your own is one more."""

REPLICATORS: Final[dict[str, Replicator]] = {
    "none": NoCopies(),
    "random": Random(),
    "stochastic": Stochastic(),
    "stochastic+random": StochasticElseRandom(),
    "migration+replication": Migration(),
    "perfect": Perfect(),
    NTDMR: NoCopies(),  # by itself: its strategy is a setting of the bag
}
"""Replicators, by the name given as `tail`: what idle machines copy. Your own is one more."""


_KINDS: Final[tuple[tuple[str, str, Mapping[str, object]], ...]] = (
    ("provisioner", "provisioner", PROVISIONERS),
    ("sampling", "way of sampling", SAMPLERS),
    ("tail", "tail strategy", REPLICATORS),
    ("planner", "planner", PLANNERS),
)


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies that decide for one bag."""

    provisioner: Provisioner
    sampler: Sampler
    replicator: Replicator
    planner: Planner


def possible_here(settings: Settings) -> tuple[Settings, list[str]]:
    """Settings that a master can decide by; and, in sentences, what was named and is not.

    They may be of another release, or name a policy that some other program had registered.
    """
    usual = {field.name: field.default for field in fields(Settings)}
    instead: dict[str, Any] = {}
    words = []
    for key, what, known in _KINDS:
        name = getattr(settings, key)
        if name not in known:
            instead[key] = usual[key]
            words.append(f"No {what} is called `{name}` here: `{usual[key]}` decides.")
    if (named := REPLICATORS.get(settings.tail)) and named.clairvoyant:
        instead["tail"] = usual["tail"]
        words.append(
            f"The tail strategy `{settings.tail}` knows how long every task will take, which only "
            f"a simulation does: `{usual['tail']}` decides."
        )
    return replace(settings, **instead), words


def policies_of(settings: Settings) -> Policies:
    return Policies(
        _provisioner(settings),
        SAMPLERS[settings.sampling],
        _replicator(settings),
        PLANNERS[settings.planner],
    )


def _provisioner(settings: Settings) -> Provisioner:
    """The provisioner's name. Until 0.1.0 it had none: two other settings told which one it was."""
    name = settings.provisioner
    if _two_pools(settings):
        return ByStrategy(settings.prudence)
    if SAMPLERS[settings.sampling].blind:
        name = COST_BLIND
    elif name == TIMETABLE and settings.graph and (judge := PLANNERS[settings.planner].workflows):
        return ByDistributions(settings.prudence, judge)
    elif name == TIMETABLE and not settings.prudence:
        name = PAPER
    return PROVISIONERS[name](settings)


def _replicator(settings: Settings) -> Replicator:
    if _two_pools(settings):
        return TwoPools(settings.strategy)
    return REPLICATORS[settings.tail] if settings.replicate else NoCopies()


def _two_pools(settings: Settings) -> bool:
    """A strategy is for bags with unreliable machines; others run as if it were not there."""
    loses = any(not offering.reliable for offering in settings.offerings)
    return settings.tail == NTDMR and settings.replicate and loses
