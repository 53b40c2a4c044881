"""The six schedules offered to the user (T §3.1.3), and the user's choice among them by name.

Bmin pays for the rest of the bag on one machine of the most profitable type, Bmax for all
machines. Around them lie six budgets, each with the fastest mix it buys. A mix that leaves whole
tasks over (`whole_tasks`) is risky: its budget is then raised in steps of 1 % of Bmin or Bmax,
whichever the budget was derived from, until no task is left over. Where that does not help,
because all machines are in use or a threshold is reached, the schedule says which cushion pays
for the last tasks.
"""

import math
from dataclasses import replace
from typing import Final

from bats.common.errors import CannotBeMetError
from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.planning import whole_tasks
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.planners import KNAPSACK, Planner
from bats.master.brain.planning.problem import Plan, Problem, all_machines, limits, lowest_budget
from bats.master.brain.prediction.bounds import Bounds

CHEAPEST: Final = "cheapest"
FASTEST: Final = "fastest"
OF_CHEAPEST: Final = {CHEAPEST: 100, "cheapest+10%": 110, "cheapest+20%": 120}
OF_FASTEST: Final = {"fastest-20%": 80, "fastest-10%": 90, FASTEST: 100}
"""The percent of the least and of the most money that each offer has."""

THRESHOLD_PERCENT: Final = 10
"""A risky schedule's budget is raised by at most so much of Bmin or Bmax."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A budget, the fastest mix for it, and what is expected of that mix."""

    name: str
    budget: Money
    mix: Mix
    makespan_seconds: float  # Te
    cost: Money  # Be
    delta_n: int  # ΔN: whole tasks that may not fit into the paid time
    cushion: Money = NOTHING  # ΔB: what running them would cost beyond the budget
    raised: Money = NOTHING  # by how much the budget was raised to make all tasks fit
    bounds: Bounds | None = None

    @property
    def risky(self) -> bool:
        return self.delta_n > 0


def offers(
    clusters: tuple[Cluster, ...], tasks: float, *, planner: Planner = KNAPSACK
) -> tuple[Schedule, ...]:
    """The six offers from cheapest to fastest; some may come to the same mix.

    Empty when no cluster has a machine.
    """
    everything = all_machines(clusters, tasks)
    if math.isinf(everything.makespan_seconds):
        return ()
    highest = everything.cost
    lowest = min(lowest_budget(clusters, tasks), highest)
    return tuple(
        schedule(
            name,
            clusters,
            tasks,
            # An offer below what the bag costs at all becomes the cheapest.
            max(lowest, _percent(reference, percent)),
            step=_percent(reference, 1),
            planner=planner,
        )
        for reference, names in ((lowest, OF_CHEAPEST), (highest, OF_FASTEST))
        for name, percent in names.items()
    )


def schedule(
    name: str,
    clusters: tuple[Cluster, ...],
    tasks: float,
    budget: Money,
    *,
    step: Money = NOTHING,
    planner: Planner = KNAPSACK,
) -> Schedule:
    """The fastest mix for this budget; if it is risky and may be raised, for a somewhat higher one.

    Raises CannotBeMetError when no mix finishes within the budget.
    """
    plan = planner.fastest(Problem(clusters, tasks, budget))
    if plan is None:
        raise CannotBeMetError(f"No mix of machines finishes {tasks:g} tasks within this budget.")
    first = _promise(name, clusters, tasks, budget, plan)
    for steps in range(1, THRESHOLD_PERCENT + 1):
        if not first.risky or step == 0 or plan.mix == limits(clusters, tasks):
            break
        more = Money(budget + steps * step)
        plan = planner.fastest(Problem(clusters, tasks, more)) or plan
        fixed = _promise(name, clusters, tasks, more, plan)
        if not fixed.risky:
            return replace(fixed, raised=Money(more - budget))
    return first


def pick(schedules: tuple[Schedule, ...], rule: str) -> Schedule:
    """The offer of that name; `balanced` is the one of the smallest makespan times cost."""
    if rule == "balanced" and schedules:
        return min(schedules, key=lambda s: (s.makespan_seconds * s.cost, s.makespan_seconds))
    for offer in schedules:
        if offer.name == rule:
            return offer
    names = ", ".join([*(offer.name for offer in schedules), "balanced"])
    raise CannotBeMetError(f"No schedule is called {rule!r}. Choose one of {names}.")


def allowance(schedule: Schedule, left: Money | None) -> Money:
    """Money to spend from its choice on; `left` of a budget of the user's own, if there is one.

    Who wants the fastest within such a budget gives all of it.
    """
    if left is None:
        return schedule.budget
    return left if schedule.name == FASTEST else Money(min(schedule.budget, left))


def _promise(
    name: str, clusters: tuple[Cluster, ...], tasks: float, budget: Money, plan: Plan
) -> Schedule:
    left = whole_tasks.delta_n(clusters, tasks, plan)
    return Schedule(
        name,
        budget,
        plan.mix,
        plan.makespan_seconds,
        plan.cost,
        left,
        whole_tasks.cushion(clusters, plan, left) if left > 0 else NOTHING,
    )


def _percent(amount: Money, percent: int) -> Money:
    return Money(-(-amount * percent // 100))
