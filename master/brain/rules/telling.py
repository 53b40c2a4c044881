"""Telling: when it is asked what a plan comes to, and that what was told will hardly hold."""

from typing import Final

from bats.common.money import NOTHING
from bats.common.units import counted
from bats.master.brain.books.choice import Told
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.planning.schedules import FASTEST, Schedule
from bats.master.brain.policies.samplers import SHARE_OF_BAG
from bats.master.brain.protocol.commands import Foretell
from bats.master.brain.protocol.settings import ASK
from bats.master.brain.views.told.kept import share
from bats.master.brain.views.told.promises import at_risk

LOOKS: Final = 4
"""The parts of a bag after each of which it is asked anew what the plan comes to."""

ENOUGH: Final = 12
"""Tasks that must have ended: of fewer a bound that holds is too wide to be of use."""

_WORTH_TELLING_SECONDS: Final = 60.0
"""The makespan from which on it is told what would do for less: of shorter ones nobody reads it."""

_LESS: Final = 3
"""Cheaper offers that are run ahead beside what a budget buys: each takes as long as that."""

_CLEARLY_LESS: Final = 0.95


def ask_when_known(run: Run) -> None:
    """Ask what the plan comes to as soon as enough has ended to tell."""
    run.choice.awaits_more = True
    ask_if_known(run)
    if run.choice.awaits_more and run.settings.foresight:
        ended = counted(_ended(run), "task")
        run.say(f"{ended} ended so far: what all come to is told when {_enough(run)} have")


def ask_if_known(run: Run) -> None:
    """Ask what was put off, if by now enough is known."""
    choice = run.choice
    if choice.awaits_more and (_ended(run) >= _enough(run) or run.tasks.order is not None):
        choice.awaits_more = False
        if choice.told is None:
            ask_of_plan(run, less(run))


def _ended(run: Run) -> int:
    return run.canonical.count


def _enough(run: Run) -> int:
    return min(ENOUGH, -(-len(run.tasks) // SHARE_OF_BAG))


def ask(run: Run, schedules: tuple[Schedule, ...]) -> None:
    """Ask what these come to from now on; one question at a time."""
    if run.settings.foresight and schedules and run.choice.asked is None:
        spent = run.provisioner.time.spent(run)
        run.choice.asked = Told(schedules, run.now, spent, len(run.tasks), share(run))
        run.out.append(Foretell(schedules))


def ask_of_plan(run: Run, beside: tuple[Schedule, ...] = ()) -> None:
    """Ask what the plan comes to that was decided without an offer: by a limit, or by itself."""
    if run.phase is Phase.EXECUTING:
        mix = tuple(len(run.pool.staying(c.index)) for c in run.clusters)
        left = run.ledger.left or NOTHING
        ask(run, (Schedule(run.choice.name, left, mix, 0.0, left, delta_n=0), *beside))


def less(run: Run) -> tuple[Schedule, ...]:
    """The schedules that cost clearly less than what a budget has just decided, by their plans."""
    plan, left = run.plan, run.ledger.left
    if run.choice.budget is None or run.choice.deadline_at is not None or run.tasks.order:
        return ()
    if plan is None or left is None or plan.makespan_seconds < _WORTH_TELLING_SECONDS:
        return ()
    of_mix = {
        one.mix: one
        for one in reversed(run.choice.drafts)
        if one.budget < left * _CLEARLY_LESS and one.mix != plan.mix and one.name != FASTEST
    }
    found = sorted(of_mix.values(), key=lambda one: one.cost)
    return tuple(found) if len(found) <= _LESS else (found[0], found[len(found) // 2], found[-1])


def promise_anew(run: Run) -> None:
    """Ask what the plan comes to for more tasks; until then nothing is told.

    A price that somebody was shown and chose stays, and is asked about before it is passed.
    """
    choice = run.choice
    if run.phase is not Phase.EXECUTING or not run.settings.foresight:
        return
    choice.looked = int(LOOKS * run.tasks.done / len(run.tasks))
    if choice.budget is not None or run.settings.rule != ASK:
        if choice.told is not None:
            choice.told_before = choice.told.total_cost
        choice.told, choice.looks, choice.warned = None, [], False
    ask_of_plan(run)


def look_again(run: Run) -> None:
    """Ask anew what the plan comes to, each time that another part of the bag is done."""
    choice = run.choice
    if choice.told is None or choice.asked is not None or run.pause is not None:
        return
    part = int(LOOKS * run.tasks.done / len(run.tasks))
    if part > choice.looked and run.tasks.unfinished:
        choice.looked = part
        ask_of_plan(run)


def warn(run: Run) -> None:
    """Say early, and once, that a bound will hardly hold, and what can be done."""
    if not run.choice.warned and (words := at_risk(run)):
        run.choice.warned = True
        run.say(words)
