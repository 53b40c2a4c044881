"""Mix planners by name: each knows the fastest mix for a budget and the cheapest for a deadline."""

from collections.abc import Callable
from typing import Final

from bats.common.records import dataclass
from bats.master.brain.planning.deadline import cheapest_within
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.milp import briefly
from bats.master.brain.planning.problem import Plan, Problem


@dataclass(frozen=True, slots=True)
class Planner:
    fastest: Callable[[Problem], Plan | None]
    """The fastest mix within the budget and the deadline; None if there is none."""

    workflows: str = ""
    """The judge of `probability.workflow_planning` who plans workflows; "": they go by mixes."""

    def cheapest(self, problem: Problem) -> Plan | None:
        """The cheapest mix within the deadline, whatever the budget; None if there is none."""
        return cheapest_within(
            problem.clusters, problem.tasks, problem.deadline_seconds, fastest=self.fastest
        )


KNAPSACK: Final = Planner(knapsack)

PLANNERS: Final[dict[str, Planner]] = {
    "knapsack": KNAPSACK,
    "milp": Planner(briefly),
    "prob": Planner(knapsack, workflows="PROB"),
    "average": Planner(knapsack, workflows="AVERAGE"),
    "worst-case": Planner(knapsack, workflows="WORST_CASE"),
}
"""Every planner by its name; one of your own is one more entry."""
