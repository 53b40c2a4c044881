"""The fastest mix within a budget: the modified bounded knapsack, solved exactly (T §2.2.2).

How many ATUs a mix is billed depends on its makespan N/S, so the weights of the knapsack depend
on its own answer. Both are found together, from the fast side: no mix is faster than all machines
together, so none is billed fewer ATUs than they would be. The knapsack at these ATUs gives the
most speed the budget may hope for, hence a makespan that no affordable mix can beat, hence ATUs
that none can undercut; and so on, until a mix can pay for the ATUs of its own makespan. Every
step only excluded what cannot be afforded, so this mix is the optimum, whether all clusters have
the same ATU or each its own.

With one way of billing for all, the knapsacks all are look-ups in one frontier (price per ATU ->
most speed). With several, or prices so fine that its table gets long, each is solved by `bounded`.
"""

import itertools
import math
from dataclasses import replace
from typing import Final

from bats.common import billing
from bats.common.money import Money
from bats.master.brain.bounded import most_speed, speed_if_split
from bats.master.brain.frontier import MOST_CELLS, Frontier, exact_cells, frontier
from bats.master.brain.problem import (
    TIE,
    Plan,
    Problem,
    all_machines,
    least_cost,
    nothing_to_do,
    plan_of,
)

FEW_CELLS: Final = 1 << 16
"""A table up to this long is filled in a few milliseconds, less than several knapsacks take."""

CELLS_PER_KNAPSACK: Final = 1 << 13
"""About how much of a longer table could be filled instead of solving one knapsack."""

AHEAD: Final = 64  # steps with split machines before one with whole ones, which is dearer


def knapsack(problem: Problem) -> Plan | None:
    """The fastest mix that costs at most the budget, or None if none finishes within it.

    Of equally fast mixes the cheapest, of equally cheap ones the one of fewest machines; free
    machines are always taken. None as well when the fastest is slower than the deadline.
    """
    if problem.tasks <= 0:
        return nothing_to_do(problem.clusters)
    everything = all_machines(problem.clusters, problem.tasks)
    if everything.speed <= 0 or not problem.in_time(everything.makespan_seconds):
        return None
    plan = _affordable(problem, everything)
    return plan if plan is not None and problem.in_time(plan.makespan_seconds) else None


def _affordable(problem: Problem, everything: Plan) -> Plan | None:
    if everything.cost <= problem.budget:
        return everything
    if problem.budget < least_cost(problem):
        return None
    makespan = max(everything.makespan_seconds, problem.known_seconds)
    paid = [
        i
        for i, cluster in enumerate(problem.clusters)
        if everything.mix[i] > 0 and not cluster.offering.free
    ]
    offering = problem.clusters[paid[0]].offering
    atus = billing.atus(offering, makespan)
    ceiling = Money(problem.budget // atus)
    cells = exact_cells(problem.clusters, everything.mix, ceiling)
    tabular = cells <= MOST_CELLS and all(
        problem.clusters[i].offering.atu_seconds == offering.atu_seconds
        and problem.clusters[i].offering.minimum_seconds == offering.minimum_seconds
        for i in paid
    )
    if not tabular or cells > FEW_CELLS:
        most_steps = cells // CELLS_PER_KNAPSACK if tabular else None
        plan, surely = _one_by_one(problem, paid, everything, makespan, most_steps)
        if surely or not tabular:
            return plan
    table = frontier(problem.clusters, everything.mix, ceiling)
    return _by_frontier(problem, table, paid[0], makespan)


def _by_frontier(problem: Problem, table: Frontier, any_paid: int, makespan: float) -> Plan | None:
    offering = problem.clusters[any_paid].offering
    while problem.in_time(makespan):
        atus = billing.atus(offering, makespan)
        price = Money(problem.budget // atus)
        speed = table.speed_within(price)
        if speed <= 0:
            return None
        makespan = max(makespan, problem.tasks / speed)
        if billing.atus(offering, makespan) == atus:
            plan = plan_of(problem.clusters, problem.tasks, table.mix_within(price))
            if plan.cost <= problem.budget:
                return plan
            makespan = max(makespan, plan.makespan_seconds)
    return None


def _one_by_one(
    problem: Problem, paid: list[int], everything: Plan, makespan: float, most_steps: int | None
) -> tuple[Plan | None, bool]:
    """The plan, and whether it is surely the optimum: not if `most_steps` did not lead to it."""
    surely = True
    for _ in itertools.count() if most_steps is None else range(most_steps):
        if not problem.in_time(makespan):
            return None, surely
        makespan = _not_faster_than(problem, paid, everything, makespan)
        bills = [billing.charge(problem.clusters[i].offering, makespan) for i in paid]
        plan = _fill(problem, paid, bills, everything, problem.budget)
        surely = surely and plan.exact
        if plan.speed <= 0:
            return None, surely
        makespan = max(makespan, plan.makespan_seconds)
        if plan.cost <= problem.budget:
            plan = _cheapest_alike(problem, paid, bills, everything, plan)
            return replace(plan, exact=surely), surely
    return None, False


def _not_faster_than(problem: Problem, paid: list[int], everything: Plan, makespan: float) -> float:
    """Go ahead to about where at least a mix of split machines can pay for its ATUs."""
    speeds = [problem.clusters[i].speed for i in paid]
    counts = [everything.mix[i] for i in paid]
    free_speed = math.fsum(
        a * cluster.speed
        for a, cluster in zip(everything.mix, problem.clusters, strict=True)
        if cluster.offering.free
    )
    bills: list[Money] = []
    for _ in range(AHEAD):
        before = bills
        bills = [billing.charge(problem.clusters[i].offering, makespan) for i in paid]
        speed = free_speed + speed_if_split(speeds, bills, counts, problem.budget)
        if bills == before or speed <= 0:
            break
        makespan = max(makespan, problem.tasks / (speed * (1 + TIE)))
    return makespan


def _fill(
    problem: Problem, paid: list[int], bills: list[Money], everything: Plan, budget: Money
) -> Plan:
    """The fastest mix when a machine costs what its bill says, and that bill's plan."""
    bought = most_speed(
        [problem.clusters[i].speed for i in paid],
        bills,
        [everything.mix[i] for i in paid],
        budget,
    )
    mix = list(everything.mix)
    for i, count in zip(paid, bought.counts, strict=True):
        mix[i] = count
    return plan_of(problem.clusters, problem.tasks, tuple(mix), exact=bought.exact)


def _cheapest_alike(
    problem: Problem, paid: list[int], bills: list[Money], everything: Plan, plan: Plan
) -> Plan:
    """Of the mixes that are as fast, the cheapest."""
    least = plan.speed * (1 - TIE)
    while plan.cost > 0:
        cheaper = _fill(problem, paid, bills, everything, Money(plan.cost - 1))
        if cheaper.speed < least or cheaper.cost >= plan.cost:
            return plan
        plan = cheaper
    return plan
