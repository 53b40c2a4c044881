"""Schedules made to the user's own limits, or refused with the nearest feasible alternative."""

import math

from bats.common.errors import CannotBeMetError
from bats.common.money import UNITS, Money, show
from bats.master.brain.mix import Cluster
from bats.master.brain.planners import KNAPSACK, Planner
from bats.master.brain.problem import Problem, all_machines
from bats.master.brain.schedules import Schedule, schedule


def within_budget(
    clusters: tuple[Cluster, ...],
    tasks: float,
    budget: Money,
    *,
    planner: Planner = KNAPSACK,
    currency: str = "$",
) -> Schedule:
    """The fastest schedule for this budget. It is never raised; the rest of it is the cushion."""
    if planner.fastest(Problem(clusters, tasks, budget)) is not None:
        return schedule("budget", clusters, tasks, budget, planner=planner)
    cheapest = planner.cheapest(Problem(clusters, tasks, budget))
    if cheapest is None:
        raise _no_machines(tasks)
    raise CannotBeMetError(
        f"No mix of machines finishes {tasks:g} tasks within {show(budget, currency)}; the "
        f"cheapest needs {_enough(cheapest.cost, currency)} and "
        f"{_time(cheapest.makespan_seconds)}. Set the budget to that or more."
    )


def within_deadline(
    clusters: tuple[Cluster, ...],
    tasks: float,
    deadline_seconds: float,
    *,
    budget: Money | None = None,
    planner: Planner = KNAPSACK,
    currency: str = "$",
) -> Schedule:
    """The cheapest schedule that meets the deadline, refused if it is above the budget."""
    everything = all_machines(clusters, tasks)
    if math.isinf(everything.makespan_seconds):
        raise _no_machines(tasks)
    problem = Problem(clusters, tasks, everything.cost, deadline_seconds)
    cheapest = planner.cheapest(problem)
    if cheapest is None:
        raise CannotBeMetError(
            f"No mix of machines finishes {tasks:g} tasks within {_time(deadline_seconds)}; all "
            f"machines together need {_time(everything.makespan_seconds)} and "
            f"{_enough(everything.cost, currency)}. Set the deadline to that or later."
        )
    if budget is not None and cheapest.cost > budget:
        raise CannotBeMetError(
            f"Finishing {tasks:g} tasks within {_time(deadline_seconds)} needs "
            f"{_enough(cheapest.cost, currency)}, more than the budget of "
            f"{show(budget, currency)}. Set the budget to that, or a later deadline."
        )
    return schedule(
        "deadline",
        clusters,
        tasks,
        cheapest.cost,
        step=Money(-(-cheapest.cost // 100)) if budget is None else Money(0),
        planner=planner,
    )


def _no_machines(tasks: float) -> CannotBeMetError:
    return CannotBeMetError(
        f"No machine can be had for {tasks:g} tasks: every cluster's limit is 0. Raise a limit."
    )


def _enough(amount: Money, currency: str) -> str:
    """An amount rounded up to cents: setting the budget to what is shown must do."""
    cent = UNITS // 100
    return show(Money(-(-amount // cent) * cent), currency)


def _time(seconds: float) -> str:
    """A duration for people, rounded up to seconds below an hour and to minutes above."""
    whole = math.ceil(seconds * (1 - 1e-9))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = -(-whole // 60)
    return f"{minutes // 60} h {minutes % 60} min"
