"""The sureness of a schedule: what a predictor promises of it with some confidence."""

from bats.common.money import Money
from bats.common.records import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bag ends within `makespan_seconds` and costs at most `cost`, with this confidence.

    The budget asked about is never exceeded: its chance is that it suffices. The deadline's is that
    it is kept. Without one they are 1. The median run takes `median_seconds` and costs
    `median_cost`.
    """

    confidence: float
    makespan_seconds: float
    cost: Money
    chance_in_budget: float
    chance_in_deadline: float
    median_seconds: float
    median_cost: Money
