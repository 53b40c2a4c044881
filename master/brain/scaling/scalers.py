"""Scalers by name, with the knobs that the thesis publishes, and one of our own."""

from collections.abc import Callable, Mapping
from typing import Final

from bats.common.errors import UsageError, quoted
from bats.master.brain.placement.placer import Placer
from bats.master.brain.placement.placers import placer
from bats.master.brain.scaling.adapt import Adapt
from bats.master.brain.scaling.budgets.pfa import PFA
from bats.master.brain.scaling.budgets.planned_tasks import PlannedTasks
from bats.master.brain.scaling.budgets.plf import PLF
from bats.master.brain.scaling.budgets.scf import SCF
from bats.master.brain.scaling.conpaas import ConPaaS
from bats.master.brain.scaling.constant import Constant
from bats.master.brain.scaling.hist import Hist
from bats.master.brain.scaling.interval_plan import Plan
from bats.master.brain.scaling.react import React
from bats.master.brain.scaling.reg import Reg
from bats.master.brain.scaling.rehearsal import Rehearse
from bats.master.brain.scaling.scaler import Scaler
from bats.master.brain.scaling.token import Token

SCALERS: Final[Mapping[str, Callable[..., Scaler]]] = {
    "none": Constant,
    "react": React,
    "adapt": Adapt,
    "hist": Hist,
    "reg": Reg,
    "conpaas": ConPaaS,
    "plan": Plan,
    "token": Token,
    "rehearse": Rehearse,
    "plf": PLF,
    "scf": SCF,
    "pfa": PFA,
}

WITH_BUDGET: Final = ("plf", "scf", "pfa")
"""Those that spend money for an interval on several kinds of machines."""


def placing(of: Scaler, usual: str) -> Placer:
    """The placement that goes with a scaler: its own where it plans tasks, else the usual one."""
    return of if isinstance(of, PlannedTasks) else placer(usual)


def scaler(name: str, **knobs: float) -> Scaler:
    """One by its name. Raises UsageError."""
    if name not in SCALERS:
        raise UsageError(f"{quoted(name)} is no scaler; there are {', '.join(SCALERS)}.")
    return SCALERS[name](**knobs)
