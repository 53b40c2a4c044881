"""The mirror problem: the cheapest mix that finishes the bag by a deadline, or at all.

Who can afford a plan can afford it with more money too. So the least budget for which `fastest`
finds a plan within the deadline is found by halving, and that plan is the cheapest there is.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from bats.common.money import Money
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.problem import (
    Plan,
    Problem,
    all_machines,
    least_cost,
    lowest_budget,
)


def cheapest_within(
    clusters: tuple[Cluster, ...],
    tasks: float,
    deadline_seconds: float = math.inf,
    *,
    fastest: Callable[[Problem], Plan | None] = knapsack,
) -> Plan | None:
    """The cheapest plan that meets the deadline (of equals the fastest), None if none does."""
    best = all_machines(clusters, tasks)
    problem = Problem(clusters, tasks, best.cost, deadline_seconds)
    if math.isinf(best.makespan_seconds) or not problem.in_time(best.makespan_seconds):
        return None
    unit = math.gcd(*(cluster.offering.price for cluster in clusters)) or 1  # divides every cost
    too_little = (least_cost(problem) // unit - 1) * unit
    one_machine = min(lowest_budget(clusters, tasks), Money(best.cost - unit))
    budget = max(one_machine, Money(too_little + unit))
    while too_little < best.cost - unit:
        # Whatever costs less than the best so far is slower.
        plan = fastest(replace(problem, budget=budget, known_seconds=best.makespan_seconds))
        if plan is None:
            # Proving that there is none is the long part: perhaps it can be done once for all.
            too_little, budget = budget, Money(best.cost - unit)
        else:
            best = plan
            budget = Money((too_little + best.cost) // (2 * unit) * unit)
    return best
