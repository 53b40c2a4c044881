"""Choosing, from the sample to a plan: schedules are offered, and the user's word is taken.

It is asked what schedules come to, and what is told of the one chosen binds. Whoever drives the
engine runs copies of it ahead, which takes longer than an event may: the answer is an event of its
own, so that a journal tells what a user was told, whatever would be told today.
"""

import math
from dataclasses import replace
from typing import Final

from bats.common.errors import CannotBeMetError
from bats.common.messages import TaskId
from bats.common.money import Money
from bats.common.units import counted, in_words
from bats.master.brain.books.choice import Told
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.planning.believable import believable, resolve, why_not_shown
from bats.master.brain.planning.schedules import FASTEST, Schedule, allowance, offers
from bats.master.brain.protocol.commands import Offer
from bats.master.brain.protocol.events import Allowed, Chosen, Foretold
from bats.master.brain.protocol.settings import ASK
from bats.master.brain.rules import pausing, replanning, sampling, telling
from bats.master.brain.views import forecast, investments
from bats.master.brain.views.order.work_left import work_left
from bats.master.brain.views.outlook import outlook
from bats.master.brain.views.told import needs, refusals
from bats.master.brain.views.told.kept import share

_NAMED: Final = 5


def sampled(run: Run) -> None:
    """The sample is complete: offer schedules, and pick one if the user has said how."""
    sampling.finish(run)
    if not run.tasks.waiting:
        run.move(Phase.EXECUTING)  # the sample was the whole bag: nothing is left to choose
        return
    if unknown := work_left(run).steps_unknown:
        names = ", ".join(unknown[:_NAMED]) + (", …" if len(unknown) > _NAMED else "")
        run.say(f"nothing is known yet of {names}: a task of theirs counts as an average one")
    run.move(Phase.CHOOSING)
    run.look_for_law()
    if run.settings.budget is None and not run.provisioner.learns_on:
        run.ledger.limit = run.ledger.committed
    offer(run)
    if run.choice.asked is None:
        _decide(run)


def offer(run: Run) -> None:
    """Work the schedules out from what is known now."""
    if run.choice.asked is not None:
        return  # what they come to is being found out: there is time for a newer one after that
    clusters = run.provisioner.offered(run)
    N = outlook(run, clusters).N_e
    schedules = (
        offers(clusters, N, planner=run.planner) if N and any(c.limit for c in clusters) else ()
    )
    if run.tasks.order is not None and not run.settings.foresight:
        schedules = forecast.paying_for_order(run, schedules)
    if schedules == run.choice.drafts:
        return
    run.choice.drafts = schedules
    if schedules and _decides_choice(run):
        telling.ask(run, schedules)
    else:
        run.schedules = schedules
        run.out.append(Offer(schedules))


def foretold(run: Run, event: Foretold) -> None:
    """It is known what schedules come to: offer those that can be believed, or bind the one."""
    told = _answered(run, event.schedules)
    if told is None:
        return
    if run.phase is Phase.EXECUTING and told.schedules[0].name == run.choice.name:
        own, *less = told.schedules
        told = replace(told, schedules=(own,))
        ends = math.isfinite(own.makespan_seconds)  # else nobody knows when it has a machine again
        if ends:
            _offer_less(run, told, tuple(less))
        if told.tasks < run.planned_tasks:
            telling.ask_of_plan(run)  # that was about fewer tasks
        elif not ends:
            return
        elif run.choice.told is None:
            bind(run, told)
        elif own.bounds is not None:
            run.choice.looks.append(told)
            telling.warn(run)
    elif run.phase is Phase.CHOOSING and told.tasks < run.planned_tasks:
        run.choice.drafts = ()  # that was about fewer tasks
        offer(run)
    elif run.phase is Phase.CHOOSING:
        run.choice.offered = replace(told, schedules=believable(told.schedules))
        run.schedules = run.choice.offered.schedules
        run.out.append(Offer(run.schedules))
        _decide(run)


def _decide(run: Run) -> None:
    """Choose as the user has said beforehand; who did not is waited for."""
    if run.choice.word is not None:
        choose(run, run.choice.word)
    elif run.settings.rule != ASK:
        choose(run, Chosen(run.settings.rule, None, run.settings.deadline_seconds))


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
    rule = _planned_anew(run, chosen.rule) if run.choice.beside else chosen.rule
    by_rule = _by_rule(run, rule, budget)
    run.ledger.limit = _limit(run, by_rule, budget)
    run.choice.delta_n = 0 if by_rule is None else by_rule.delta_n
    run.choice.name = _called(run, by_rule, budget) or chosen.rule
    run.choice.at, run.progress.stood_still = now, 0.0
    run.choice.committed = run.provisioner.time.spent(run)
    run.choice.told, run.choice.asked = _told(run, by_rule), None
    run.choice.looks, run.choice.warned = [], False
    run.short_of_money = False
    if run.phase in (Phase.ENDING, Phase.ENDED):
        _revive(run)
    run.move(Phase.EXECUTING)
    if chosen.deadline_seconds is not None and (words := refusals.why_not(run, chosen)):
        run.choice.missed = True
        run.say(f"{words} As it is, it goes on as fast as its money allows.")
    replanning.replan(run, "schedule chosen")
    run.next_monitor = now + replanning.monitor_seconds(run)
    if run.choice.told is None:
        telling.ask_when_known(run)


def allow(run: Run, allowed: Allowed) -> None:
    """Go on with what was chosen, within other limits; who waited for money does so at once."""
    if allowed.budget is not None:
        run.choice.budget = allowed.budget
        run.ledger.limit = Money(max(run.ledger.committed, allowed.budget))
    if allowed.deadline_seconds is not None:
        run.choice.deadline_at = run.began_at + allowed.deadline_seconds
        run.choice.missed = False
    run.short_of_money = False
    if run.pause is not None and run.pause.budget is not None:
        pausing.resume(run)
    elif run.phase in (Phase.ENDING, Phase.ENDED) and run.tasks.counts[TaskState.DROPPED]:
        _revive(run)
        run.move(Phase.EXECUTING)
    if run.phase is Phase.EXECUTING:
        replanning.replan(run, "more is allowed")
        telling.ask_of_plan(run)


def go_on_for_less(run: Run) -> None:
    """Less is to be done: what waited for money may do with what there is."""
    run.short_of_money = False
    if run.pause is not None and run.pause.budget is not None:
        pausing.resume(run)
    replanning.replan(run, "fewer tasks")


def _limit(run: Run, by_rule: Schedule | None, budget: Money | None) -> Money:
    """The limit of all that is spent; there is always one."""
    committed = run.ledger.committed
    if by_rule is None:
        return committed if budget is None else budget
    if budget is not None and by_rule.name == FASTEST:
        return budget
    if told := _told(run, by_rule):
        limit = Money(max(committed, told.total_cost))
    else:
        allowed = allowance(by_rule, run.ledger.left_of(budget))
        allowed = Money(allowed + investments.reserve_of(run))
        limit = Money(committed + run.provisioner.allowed(run, by_rule, allowed))
    return limit if budget is None else min(limit, budget)


def _told(run: Run, by_rule: Schedule | None) -> Told | None:
    """The schedule as it was foretold, if that is what decides; it counts from the choice on."""
    offered = run.choice.offered
    if by_rule is None or by_rule.bounds is None or offered is None:
        return None
    if run.choice.deadline_at is not None:
        return None
    return Told((by_rule,), run.now, run.provisioner.time.spent(run), offered.tasks, offered.share)


def _by_rule(run: Run, rule: str, budget: Money | None) -> Schedule | None:
    """The schedule that the rule names; None when the budget alone decides."""
    if not run.schedules:
        return None
    try:
        schedule = resolve(run.schedules, rule)
    except CannotBeMetError:
        return None
    if words := why_not_shown(run.schedules, rule, schedule):
        run.say(words)
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
    if run.ended_at is not None:
        run.progress.went_on(run.ended_at, run.choice.at, run.now)
    run.outcome, run.ended_at = None, None


# --- what is foretold --------------------------------------------------------------------------


def _planned_anew(run: Run, rule: str) -> str:
    """Plan what was offered beside a budget for what is left by now; the name of the one meant.

    Of what was told of it a part is done: what it comes to is found out again.
    """
    try:
        meant = resolve(run.schedules, rule)
    except CannotBeMetError:
        return rule
    if words := why_not_shown(run.schedules, rule, meant):
        run.say(words)
    run.choice.offered, run.choice.beside = None, False
    clusters = run.provisioner.offered(run)
    run.schedules = offers(clusters, max(1, outlook(run, clusters).N_e), planner=run.planner)
    run.choice.drafts = run.schedules
    return meant.name


def _offer_less(run: Run, told: Told, less: tuple[Schedule, ...]) -> None:
    """Offer what would do for less than the budget buys, if anything does; it can still be chosen.

    The fastest stays what takes all of the budget again.
    """
    (own,) = told.schedules
    known = [one for one in less if one.bounds is not None]  # else nothing could be foretold
    cheaper = tuple(one for one in believable((*known, own)) if one != own and one.cost < own.cost)
    if not cheaper:
        return
    run.choice.offered, run.choice.beside = replace(told, schedules=cheaper), True
    fastest = (one for one in run.choice.drafts if one.name == FASTEST)
    run.schedules = (*cheaper, *fastest)
    first = cheaper[0]
    run.say(
        f"{first.name} would do the rest for {run.shown(first.cost)} in "
        f"{in_words(first.makespan_seconds)}, not {run.shown(own.cost)} in "
        f"{in_words(own.makespan_seconds)}; while it runs, it can still be chosen"
    )


def allow_for_more(run: Run) -> None:
    """Let a bag to which tasks were added cost what the rule that was said makes of all of them.

    A user who was asked has chosen a price, and one who gave a budget has capped it.
    """
    limit = run.ledger.limit
    if run.choice.budget is not None or run.settings.rule == ASK or limit is None:
        return
    clusters = run.provisioner.offered(run)
    N = outlook(run, clusters).N_e
    possible = N and any(c.limit for c in clusters)
    if possible and (schedules := offers(clusters, N, planner=run.planner)):
        found = resolve(schedules, run.settings.rule)
        run.ledger.limit = max(limit, _limit(run, found, None))


def _decides_choice(run: Run) -> bool:
    """True if nothing can be chosen before it is known what the schedules come to.

    The fastest within a budget, or what meets a deadline, is found without any.
    """
    settings = run.settings
    if not settings.foresight or settings.deadline_seconds is not None:
        return False
    return settings.rule != FASTEST or settings.budget is None


def _answered(run: Run, schedules: tuple[Schedule, ...]) -> Told | None:
    """The schedules asked about, as foretold; as planned where nobody knew. None: none were.

    In an older journal it was asked with the choice, whatever was known.
    """
    asked, run.choice.asked = run.choice.asked, None
    if asked is None and run.choice.awaits_more and schedules:
        run.choice.awaits_more = False
        spent = run.provisioner.time.spent(run)
        return Told(schedules, run.now, spent, len(run.tasks), share(run))
    if asked is None:
        return None
    return replace(asked, schedules=schedules or asked.schedules)


def bind(run: Run, told: Told) -> None:
    """Keep what is told of the plan on record; its price caps where the user gave no budget.

    A schedule that costs less than a budget has what is told of it, as long as the budget lasts.
    """
    if any(schedule.bounds is None for schedule in told.schedules):
        return
    run.choice.told = told
    budget, limit = run.choice.budget, run.ledger.limit
    if budget is None:
        most = max(told.total_cost, run.choice.told_before)
        run.ledger.limit = Money(max(run.ledger.committed, most))
    elif limit is not None and limit < budget:
        run.ledger.limit = min(budget, max(limit, told.total_cost))


def waits_for_money(run: Run) -> bool:
    """Ask before the price that was told is passed: it was no budget of the user's."""
    told, budget, limit = run.choice.told, run.choice.budget, run.ledger.limit
    if budget is not None and limit is not None and limit < budget:
        run.ledger.limit = budget
        run.say(f"what was told does not do: all of the {run.shown(budget)} may be spent")
        replanning.replan(run, "more may be spent")
        return bool(run.pool.alive())
    if budget is not None:
        return False
    if run.settings.rule != ASK and _was_told_of_fewer(run):
        return _goes_on_for_more(run)
    if told is None:
        return False
    enough = needs.budget_for(run)
    if enough is None:
        return False
    enough = needs.whole_cents(Money(max(enough, run.ledger.committed + 1)))
    left = counted(run.tasks.unfinished, "task")
    known = f" for the {told.tasks:,} tasks known then" if told.tasks < len(run.tasks) else ""
    pausing.pause(
        run,
        f"the {run.shown(told.total_cost)} that were told{known} to do in nine of ten cases do "
        f"not; "
        f"the last {left} need up to {run.shown(enough)} in all",
        budget=enough,
    )
    return True


def _was_told_of_fewer(run: Run) -> bool:
    """True if no price is told that is for all tasks there are by now."""
    told, asked = run.choice.told, run.choice.asked
    if told is None:
        return asked is not None and len(run.tasks) > run.settings.tasks
    return told.tasks < len(run.tasks)


def _goes_on_for_more(run: Run) -> bool:
    """Nobody was told what so many tasks cost: they may cost that, and it is told anew."""
    enough, limit = needs.budget_for(run), run.ledger.limit
    if enough is None or limit is None or enough <= limit:
        return False
    run.ledger.limit = enough
    run.planned_tasks = len(run.tasks)
    replanning.replan(run, "tasks were added")
    telling.promise_anew(run)
    return bool(run.pool.alive())
