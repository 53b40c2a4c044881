"""Mix planners by name: each turns a problem into the fastest affordable plan."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from bats.master.brain.knapsack import knapsack
from bats.master.brain.milp import milp
from bats.master.brain.problem import Plan, Problem


class Planner(Protocol):
    def __call__(self, problem: Problem, /) -> Plan | None:
        """The fastest mix within the budget (and deadline); None if there is none."""


PLANNERS: Final[Mapping[str, Planner]] = MappingProxyType({"knapsack": knapsack, "milp": milp})
