"""The fastest mix within a budget: the modified bounded knapsack, solved exactly (T §2.2.2).

How many ATUs a mix is billed depends on its makespan N/S, so the weights of the knapsack depend
on its own answer. Both are found together, from the fast side: no mix is faster than all machines
together, so none is billed fewer ATUs than they would be. The knapsack at these ATUs gives the
most speed the budget may hope for, hence a makespan that no affordable mix can beat, hence ATUs
that none can undercut; and so on, until a mix can pay for the ATUs of its own makespan. Every
step only excluded what cannot be afforded, so this mix is the optimum, whether all clusters have
the same ATU or each its own.

With one way of billing for all, the knapsacks all are look-ups in one frontier (price per ATU ->
most speed). With several, or prices so fine that its table gets long, `bounded_knapsack` solves
each.
"""

import itertools
import math
from dataclasses import replace
from typing import Final

from bats.common import billing
from bats.common.money import Money
from bats.master.brain.planning.bounded_knapsack import most_speed, speed_if_split
from bats.master.brain.planning.frontier import MOST_CELLS, exact_cells, frontier
from bats.master.brain.planning.problem import (
    TIE,
    Plan,
    Problem,
    all_machines,
    least_cost,
    nothing_to_do,
    plan_of,
)

FEW_CELLS: Final = 1 << 13
"""A table up to this long is filled in less than a millisecond."""

CELLS_PER_CLUSTER: Final = 1 << 10
"""About how much of a longer table could be filled in the time that solving one knapsack takes."""

AHEAD: Final = 64
"""The most steps with split machines before one with whole ones."""


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
    if everything.cost <= problem.budget:
        return everything
    if problem.budget < least_cost(problem):
        return None
    plan = _Search(problem, everything).fastest()
    return plan if plan is not None and problem.in_time(plan.makespan_seconds) else None


class _Search:
    """A search from the fast side towards the first mix that can pay for itself."""

    def __init__(self, problem: Problem, everything: Plan) -> None:
        self.problem = problem
        self.limits = everything.mix
        self.start = max(everything.makespan_seconds, problem.known_seconds)
        clusters = problem.clusters
        free = [i for i, cluster in enumerate(clusters) if cluster.offering.free]
        self.free_speed = math.fsum(self.limits[i] * clusters[i].speed for i in free)
        self.paid = [i for i, a in enumerate(self.limits) if a > 0 and i not in free]
        self.offerings = [clusters[i].offering for i in self.paid]
        self.speeds = [clusters[i].speed for i in self.paid]
        self.counts = [self.limits[i] for i in self.paid]
        ways = {(o.atu_seconds, o.minimum_seconds, o.boundary_seconds) for o in self.offerings}
        self.billed_alike = len(ways) == 1

    def fastest(self) -> Plan | None:
        makespan, exact = self.start, True
        patience = CELLS_PER_CLUSTER * len(self.paid)
        for step in itertools.count():
            makespan = self._ahead(makespan)
            if not self.problem.in_time(makespan):
                return None
            cells = self._cells(makespan)
            if cells <= max(FEW_CELLS, min(step * patience, MOST_CELLS)):
                return self._by_frontier(makespan)
            bills = self._bills(makespan)
            plan = self._fill(bills, self.problem.budget)
            if not plan.exact and cells <= MOST_CELLS:
                return self._by_frontier(makespan)
            exact = exact and plan.exact
            if plan.speed <= 0:
                return None
            if plan.cost <= self.problem.budget:
                return replace(self._cheapest_alike(plan), exact=exact)
            makespan = max(makespan, plan.makespan_seconds)
        return None

    def _bills(self, makespan: float) -> list[Money]:
        return [billing.charge_to_work(offering, makespan) for offering in self.offerings]

    def _ahead(self, makespan: float) -> float:
        """Go on to about where at least a mix of split machines can pay for its ATUs."""
        bills: list[Money] = []
        for _ in range(AHEAD):
            before, bills = bills, self._bills(makespan)
            split = speed_if_split(self.speeds, bills, self.counts, self.problem.budget)
            speed = self.free_speed + split
            if bills == before or speed <= 0:
                break
            makespan = max(makespan, self.problem.tasks / (speed * (1 + TIE)))
        return makespan

    def _price(self, makespan: float) -> Money:
        """The price per ATU that a mix may have, if all are billed alike."""
        return Money(self.problem.budget // billing.atus_to_work(self.offerings[0], makespan))

    def _cells(self, makespan: float) -> float:
        if not self.billed_alike:
            return math.inf
        return exact_cells(self.problem.clusters, self.limits, self._price(makespan))

    def _by_frontier(self, makespan: float) -> Plan | None:
        problem, offering = self.problem, self.offerings[0]
        table = frontier(problem.clusters, self.limits, self._price(makespan))
        while problem.in_time(makespan):
            price = self._price(makespan)
            speed = table.speed_within(price)
            if speed <= 0:
                return None
            atus = billing.atus_to_work(offering, makespan)
            makespan = max(makespan, problem.tasks / speed)
            if billing.atus_to_work(offering, makespan) == atus:
                plan = plan_of(problem.clusters, problem.tasks, table.mix_within(price))
                if plan.cost <= problem.budget:
                    return plan
                makespan = max(makespan, plan.makespan_seconds)
        return None

    def _fill(self, bills: list[Money], budget: Money) -> Plan:
        """The fastest mix when a machine costs what its bill says, and that mix's plan."""
        bought = most_speed(self.speeds, bills, self.counts, budget)
        mix = list(self.limits)
        for i, count in zip(self.paid, bought.counts, strict=True):
            mix[i] = count
        problem = self.problem
        return plan_of(problem.clusters, problem.tasks, tuple(mix), exact=bought.exact)

    def _cheapest_alike(self, plan: Plan) -> Plan:
        """The cheapest of the mixes that are as fast, by the bills for that time."""
        bills = self._bills(plan.makespan_seconds)
        least = plan.speed * (1 - TIE)
        while plan.cost > 0:
            cheaper = self._fill(bills, Money(plan.cost - 1))
            if cheaper.speed < least or cheaper.cost >= plan.cost:
                break
            plan = cheaper
        return plan
