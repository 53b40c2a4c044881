"""Choosing, from the sample to a plan: schedules are offered, and the user's word is taken."""

from bats.common.errors import CannotBeMetError
from bats.common.messages import TaskId
from bats.common.money import Money
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.planning.schedules import Schedule, allowance, offers, pick
from bats.master.brain.protocol.commands import Offer
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import ASK
from bats.master.brain.rules import monitoring, replanning, sampling
from bats.master.brain.views import investments, refusals
from bats.master.brain.views.outlook import outlook


def sampled(run: Run) -> None:
    """The sample is complete: offer schedules, and pick one if the user has said how."""
    sampling.finish(run)
    if not run.tasks.waiting:
        run.move(Phase.EXECUTING)  # the sample was the whole bag: nothing is left to choose
        return
    run.move(Phase.CHOOSING)
    if run.settings.budget is None and not run.provisioner.learns_on:
        run.ledger.limit = run.ledger.committed
    offer(run)
    if run.choice.word is not None:
        choose(run, run.choice.word)
    elif run.settings.rule != ASK:
        choose(run, Chosen(run.settings.rule, None, run.settings.deadline_seconds))


def offer(run: Run) -> None:
    """Work the schedules out from what is known now."""
    clusters = run.provisioner.offered(run)
    N = outlook(run, clusters).N_e
    schedules = (
        offers(clusters, N, planner=run.planner) if N and any(c.limit for c in clusters) else ()
    )
    if schedules != run.schedules:
        run.schedules = schedules
        run.out.append(Offer(schedules))


def choose(run: Run, chosen: Chosen) -> None:
    """Take the user's word. A budget caps the whole run, what is spent already included."""
    if run.phase is Phase.SAMPLING:  # at a replay: the sample was complete then, and is not yet
        run.choice.word = chosen
        return
    now = run.now
    if chosen.budget is not None:
        run.choice.budget = chosen.budget
    budget = run.choice.budget
    if chosen.deadline_seconds is not None:
        run.choice.deadline_at = run.began_at + chosen.deadline_seconds
        run.choice.missed = False
    if chosen.cushion is not None:
        run.choice.cushion = chosen.cushion
    committed = run.ledger.committed
    by_rule = _by_rule(run, chosen.rule, budget)
    if by_rule is None:
        run.ledger.limit = committed if budget is None else budget  # never without a limit
    else:
        allowed = allowance(by_rule, run.ledger.left_of(budget))
        allowed = Money(allowed + investments.reserve_of(run))
        run.ledger.limit = Money(committed + run.provisioner.allowed(run, allowed))
        if budget is not None:
            run.ledger.limit = min(run.ledger.limit, budget)
        run.choice.delta_n = by_rule.delta_n
    run.choice.name = _called(run, by_rule, budget) or chosen.rule
    run.choice.at = now
    run.choice.committed = run.provisioner.time.spent(run)
    run.short_of_money = False
    if run.phase in (Phase.ENDING, Phase.ENDED):
        _revive(run)
    run.move(Phase.EXECUTING)
    if chosen.deadline_seconds is not None and (words := refusals.why_not(run, chosen)):
        run.choice.missed = True
        run.say(f"{words} As it is, it goes on as fast as its money allows.")
    replanning.replan(run, "schedule chosen")
    run.next_monitor = now + monitoring.monitor_seconds(run)


def _by_rule(run: Run, rule: str, budget: Money | None) -> Schedule | None:
    """The schedule that the rule names; None when the budget alone decides."""
    if not run.schedules:
        return None
    try:
        schedule = pick(run.schedules, rule)
    except CannotBeMetError:
        return None
    if budget is not None and run.ledger.committed + schedule.budget > budget:
        return None  # no schedule within the budget by that name: what the budget buys, then
    return schedule


def _called(run: Run, by_rule: Schedule | None, budget: Money | None) -> str:
    """The name of what decides: the deadline, a schedule, or the budget."""
    if run.choice.deadline_at is not None:
        return "deadline"
    if by_rule is not None:
        return by_rule.name
    return "budget" if run.schedules and budget is not None else ""


def _revive(run: Run) -> None:
    """Revive a bag that had run out of money and got more."""
    for number, state in enumerate(run.tasks.states):
        if state == TaskState.DROPPED:
            run.tasks.retry(TaskId(number))
    run.outcome = None
    run.ended_at = None
