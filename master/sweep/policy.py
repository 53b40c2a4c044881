"""The `[policy]` table of a sweep file: how the scheduler decides, as far as that can be chosen.

Whatever is left out is left to the master. The names of policies are those of the brain's
registries, looked up when one is read: other packages may have added their own by then, and most
sweeps name none.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import Field

from bats.common.errors import quoted
from bats.master.model_checks import Checked, Reads, Whole, positive_duration, suggestion
from bats.master.policy_packages import import_policies

Names = Callable[[], tuple[str, ...]]

_DURATION: Final = {"type": ["string", "number"], "examples": ["5m", "1h 30m"]}
_SETTINGS: Final = {
    "monitor": "monitor_seconds",
    "patience": "patience_seconds",
    "sample_slots": "initial_workers",
    "sample_shared": "replicated",
}
"""Keys of the table that are called otherwise than the setting they mean."""


def tails() -> tuple[str, ...]:
    from bats.master.brain.policies.by_name import REPLICATORS

    import_policies()
    return tuple(REPLICATORS)


def provisioners() -> tuple[str, ...]:
    from bats.master.brain.policies.by_name import PROVISIONERS

    import_policies()
    return tuple(PROVISIONERS)


def planners() -> tuple[str, ...]:
    from bats.master.brain.planning.planners import PLANNERS

    import_policies()
    return tuple(PLANNERS)


def samplings() -> tuple[str, ...]:
    from bats.master.brain.policies.by_name import SAMPLERS

    import_policies()
    return tuple(SAMPLERS)


def _named(names: Names, what: str) -> Reads:
    def read(written: Any) -> str:
        known = names()
        if isinstance(written, str) and written in known:
            return str(written)
        near = suggestion(str(written), known) if isinstance(written, str) else ""
        raise ValueError(
            f"{quoted(written)} names no {what}; {near or 'allowed are ' + ', '.join(known)}"
        )

    return Reads(read, lambda: {"enum": list(names())})


def read_strategy(written: Any) -> str:
    from bats.master.brain.unreliable.preference import check

    if isinstance(written, str):
        check(written)
        return str(written)
    raise ValueError(f"should be a text such as N=3 T=1x D=2x M_r=0.1, not {quoted(written)}")


def _prudence(written: Any) -> float:
    try:
        value = math.nan if isinstance(written, bool) else float(written)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if 0 <= value < math.inf:
        return value
    raise ValueError(f"should be a number, 0 or more, not {quoted(written)}")


class Policy(Checked):
    """The ways in which the scheduler decides."""

    tail: Annotated[str, _named(tails, "tail strategy")] = Field(
        "stochastic+random", description="What idle machines copy when no task waits."
    )
    strategy: Annotated[str, Reads(read_strategy, {"type": "string"})] = Field(
        "N=3 T=1x D=2x M_r=0.1",
        description="Of the tail `ntdmr`: when how many copies go to unreliable and to reliable "
        "machines; or by what it is chosen: product, cheapest, fastest, a formula.",
    )
    provisioner: Annotated[str, _named(provisioners, "provisioner")] = Field(
        "timetable", description="Which machines are bought, and who of them stays."
    )
    planner: Annotated[str, _named(planners, "planner")] = Field(
        "knapsack", description="What the mixes of offers and of deadlines come from."
    )
    sampling: Annotated[str, _named(samplings, "way of sampling")] = Field(
        "regression", description="How runtimes are learned before money is committed."
    )
    prudence: Annotated[float, Reads(_prudence, {"type": "number", "minimum": 0})] = Field(
        1.0,
        description="How much room plans keep for what is not known: 1 is two standard errors, "
        "0 is none, which is the provisioner `paper`.",
    )
    upgrade: bool = Field(
        True, description="Whether more machines may be hired to be done sooner for the same money."
    )
    monitor: Annotated[float, Reads(positive_duration, _DURATION)] = Field(
        0.0,
        description="How often the plan is looked at; not given: by tasks, ATU and what is left.",
    )
    patience: Annotated[float, Reads(positive_duration, _DURATION)] = Field(
        0.0,
        description="How long the sample waits for the first machine of an offering; not given: "
        "one ATU, at least a minute.",
    )
    sample_slots: Whole = Field(
        7, ge=1, le=1000, description="Slots of each offering that the sample may take at most."
    )
    sample_shared: Whole = Field(
        7, ge=1, le=1000, description="Tasks of the sample that run on every offering, at most."
    )
    losses: Whole = Field(
        5,
        ge=0,
        le=1000,
        description="How many machines a task may lose before it is held to be the cause.",
    )
    seed: Whole = Field(
        0, ge=0, le=1 << 62, description="What chance begins from: which tasks are sampled."
    )

    def settings(self) -> dict[str, str | int | float]:
        """The values that were given, by the names of the brain's settings."""
        return {
            _SETTINGS.get(name, name): value
            for name, value in self.model_dump(exclude_unset=True).items()
        }
