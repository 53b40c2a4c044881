"""The fastest mix by mixed-integer programming (HiGHS): a check on `knapsack`, open to more rules.

The ATUs a mix is billed for are found as in `knapsack`, from the fast side; only how the fastest
mix for given bills is found differs. Linear side constraints fit in here, such as a most number
of machines over all clusters. HiGHS reckons with tolerances of about a millionth: where the bills
of clusters differ by more than that, trust `knapsack`, which is exact.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from bats.common import billing
from bats.common.errors import BrokenInvariantError
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.planning.bounded_knapsack import speed_if_split
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.mix import Mix
from bats.master.brain.planning.problem import (
    TIE,
    Plan,
    Problem,
    least_cost,
    limits,
    nothing_to_do,
    plan_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKS = 2  # at whole machines, each billed otherwise, while the master answers nobody
AHEAD = 64  # looks at split machines before one at whole ones: they take microseconds each
SCALE = 1e6  # HiGHS stops at gaps of 1e-6: numbers this size make that 1e-12


@dataclass(frozen=True, slots=True)
class SideConstraints:
    """Conditions that a mix must heed besides budget and limits."""

    most_machines: int | None = None


def briefly(problem: Problem) -> Plan | None:
    """The planner as a master plans by it: what takes more looks is left to `knapsack`.

    The count of looks is the same whenever a journal is replayed; seconds would not be.
    """
    return milp(problem, looks=LOOKS)


def milp(
    problem: Problem, side: SideConstraints | None = None, *, looks: float = math.inf
) -> Plan | None:
    """Like `knapsack`, except that under side constraints free machines may stay unused too."""
    if problem.tasks <= 0:
        return nothing_to_do(problem.clusters)
    most = limits(problem.clusters, problem.tasks)
    if not any(most) or problem.budget < least_cost(problem):
        return None
    plan = plan_of(problem.clusters, problem.tasks, most)
    if side is not None:
        plan = _fill(problem, most, (0,) * len(most), Money(0), side)
    if plan.speed <= 0:
        return None
    makespan = max(plan.makespan_seconds, problem.known_seconds)
    bills: tuple[int, ...] = ()
    while problem.in_time(makespan):
        makespan = _ahead(problem, most, makespan)
        before, bills = bills, _bills(problem, makespan)
        if bills == before and plan.cost <= problem.budget:
            return plan
        if looks < 1:
            return knapsack(replace(problem, known_seconds=makespan))
        looks -= 1
        plan = _fill(problem, most, bills, problem.budget, side)
        if plan.speed <= 0:
            return None
        makespan = max(makespan, plan.makespan_seconds)
    return None


def _ahead(problem: Problem, most: Mix, makespan: float) -> float:
    """A jump, as in `knapsack`, to about where a mix of split machines can pay for its ATUs.

    Of short ATUs there are thousands, and a look at each by HiGHS would take minutes.
    """
    paid = [k for k, c in enumerate(problem.clusters) if most[k] and not c.offering.free]
    speeds, counts = [problem.clusters[k].speed for k in paid], [most[k] for k in paid]
    free = math.fsum(most[k] * c.speed for k, c in enumerate(problem.clusters) if c.offering.free)
    bills: list[Money] = []
    for _ in range(AHEAD):
        bills, before = [Money(_bills(problem, makespan)[k]) for k in paid], bills
        speed = free + speed_if_split(speeds, bills, counts, problem.budget)
        if bills == before or speed <= 0:
            break
        makespan = max(makespan, problem.tasks / (speed * (1 + TIE)))
    return makespan


def _bills(problem: Problem, makespan: float) -> tuple[int, ...]:
    return tuple(
        0 if cluster.offering.free else billing.charge_to_work(cluster.offering, makespan)
        for cluster in problem.clusters
    )


def _fill(
    problem: Problem,
    most: Mix,
    bills: tuple[int, ...],
    budget: Money,
    side: SideConstraints | None,
) -> Plan:
    """The fastest mix at these bills; of equals the cheapest, then the one of fewest machines."""
    most = tuple(min(A, budget // bill) if bill else A for A, bill in zip(most, bills, strict=True))
    speeds = np.array([cluster.speed for cluster in problem.clusters])
    ones = np.ones(len(most))
    costs = np.array([float(bill) if A else 0.0 for A, bill in zip(most, bills, strict=True)])
    rows: list[tuple[NDArray[np.float64], float, float]] = []  # coefficients, at least, at most
    if costs.max(initial=0.0) > 0:
        unit = costs.max() / SCALE
        # Costs are whole multiples: half of one more makes room for rounding and lets nothing in.
        whole = math.gcd(*bills)
        rows.append((costs / unit, 0.0, (budget // whole + 0.5) * whole / unit))
    if side is not None and side.most_machines is not None:
        rows.append((ones, 0.0, float(side.most_machines)))
    wanted = speeds / max(float(speeds @ most), 1e-300) * SCALE
    mix = _solve(-wanted, rows, most) or (0,) * len(most)
    rows.append((wanted, float(wanted @ mix) * (1 - TIE), np.inf))
    if costs.max(initial=0.0) > 0 and sum(mix) > 0:
        dear = costs / max(float(costs @ mix), costs.max()) * SCALE
        mix = _solve(dear, rows, most) or mix
        rows.append((costs / unit, 0.0, (float(costs @ mix) + whole / 2) / unit))
    free = np.array([bill == 0 for bill in bills])
    mix = _solve(np.where(free & (side is None), -1.0, 1.0), rows, most) or mix
    if sum(a * bill for a, bill in zip(mix, bills, strict=True)) > budget:
        raise BrokenInvariantError(f"HiGHS returned the mix {mix} that costs more than {budget}")
    return plan_of(problem.clusters, problem.tasks, mix)


def _solve(
    objective: "NDArray[np.float64]",
    rows: "list[tuple[NDArray[np.float64], float, float]]",
    most: Mix,
) -> Mix | None:
    """Minimise the objective over whole numbers of machines.

    None when HiGHS, which reckons with tolerances, sees no mix that keeps rows this tight.
    """
    from scipy import optimize  # takes a third of a second to import

    answer = optimize.milp(
        objective,
        integrality=np.ones(len(most)),
        bounds=optimize.Bounds(0, np.array(most, dtype=float)),
        constraints=[optimize.LinearConstraint(row[None, :], low, high) for row, low, high in rows],
        # Its presolve loses mixes that spend the budget to the last unit.
        options={"mip_rel_gap": 0.0, "presolve": False},
    )
    return None if answer.x is None else tuple(round(a) for a in answer.x)
