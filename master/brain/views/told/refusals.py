"""Refusals: why a choice cannot be met, told with the one number that would do."""

from bats.common.money import Money, show
from bats.common.offering import Offering
from bats.common.units import counted, in_words
from bats.master.brain.planning.problem import Problem, all_machines
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.views.order.work_left import critical_seconds
from bats.master.brain.views.outlook import outlook
from bats.master.brain.views.readonly import Phase, RunView
from bats.master.brain.views.told import needs


def why_not(run: RunView, chosen: Chosen) -> str:
    """The refusal in a sentence or two; "" when the choice can be met.

    A budget that was taken before is not held against a schedule that is named afterwards.
    """
    if run.phase is Phase.EXECUTING and chosen.budget is None and chosen.deadline_seconds is None:
        return ""
    clusters = run.planning_clusters()
    if not outlook(run, clusters).N_e or not any(c.limit for c in clusters):
        return ""
    budget = run.choice.budget if chosen.budget is None else chosen.budget
    if chosen.deadline_seconds is not None:
        return too_late(run, chosen.deadline_seconds) or too_dear(
            run, chosen.deadline_seconds, budget
        )
    return too_little(run, budget)


def pays_for_nothing(budget: Money | None, offerings: tuple[Offering, ...], currency: str) -> str:
    """A refusal if not even one machine can be had for this budget, before anything is known."""
    there = [one for one in offerings if one.max_machines]
    if budget is None or not there or any(one.free for one in there):
        return ""
    least, one = needs.first_machine(there)
    if least <= budget:
        return ""
    enough = show(needs.whole_cents(least), currency)
    return (
        f"The budget of {show(budget, currency)} pays for no machine: the cheapest, {one.name}, is "
        f"had for {enough}. Set the budget to that or more; what all of it takes is told after a "
        "sample."
    )


def too_little(run: RunView, budget: Money | None) -> str:
    """A refusal if no plan finishes the bag within this budget."""
    least = needs.least_for(run)
    if budget is None or least is None or least <= budget:
        return ""
    return f"To finish {_the_rest(run)} {_in_all(run, needs.budget_for(run), budget)}"


def too_late(run: RunView, deadline_seconds: float) -> str:
    """A refusal if all machines together do not finish the bag by then."""
    clusters = run.planning_clusters()
    left = run.began_at + deadline_seconds - run.now
    soonest = all_machines(clusters, outlook(run, clusters).N_e).makespan_seconds
    if max(soonest, critical_seconds(run)) <= left:
        return ""
    earliest = needs.seconds_for(run)
    if earliest is None:
        return f"No deadline can be kept: no machine can be had for {_the_rest(run)}."
    return (
        f"The deadline cannot be earlier than {in_words(earliest)}: then all machines, asked for "
        f"now, have finished {_the_rest(run)}. Set it to that or later."
    )


def too_dear(run: RunView, deadline_seconds: float, budget: Money | None) -> str:
    """A refusal if what finishes the bag by then costs more than the budget."""
    if budget is None:
        return ""
    clusters = run.planning_clusters()
    left = max(1e-3, run.began_at + deadline_seconds - run.now)
    problem = Problem(clusters, outlook(run, clusters).N_e, budget, left)
    cheapest = run.planner.cheapest(problem)
    if cheapest is None or run.ledger.committed + cheapest.cost <= budget:
        return ""
    enough = needs.budget_for(run, deadline_seconds=deadline_seconds)
    return f"To be done within {in_words(deadline_seconds)} {_in_all(run, enough, budget)}"


def _the_rest(run: RunView) -> str:
    return f"the last {counted(run.tasks.waiting, 'task')}"


def _in_all(run: RunView, enough: Money | None, budget: Money) -> str:
    needed = "" if enough is None else f"{run.shown(enough)} in all, "
    set_to = "a higher amount" if enough is None else f"{run.shown(enough)} or more"
    return (
        f"it needs {needed}more than the budget of {run.shown(budget)}; "
        f"{run.shown(run.ledger.committed)} are spent or promised to machines already. "
        f"Set the budget to {set_to}."
    )
