"""How sure a schedule is: what a predictor promises with some confidence."""

from dataclasses import dataclass

from bats.common.money import Money


@dataclass(frozen=True, slots=True)
class Bounds:
    """With this confidence the bag ends within both; None where no statement was made."""

    confidence: float
    makespan_seconds: float | None = None
    cost: Money | None = None
    chance_in_budget: float | None = None
    predictor: str = ""
