"""Caps above the budget: a bag is told what others leave of them, and waits for more.

What runs on machines that cost nothing goes on meanwhile, and nothing that waits has failed.
"""

from bats.master.brain.books.phase import Phase
from bats.master.brain.books.state import Run
from bats.master.brain.protocol.events import Allotted
from bats.master.brain.rules import dispatch, replanning, sampling
from bats.master.brain.rules.machines import hiring
from bats.master.brain.views.told.under_cap import held_up


def takes_away(run: Run, event: Allotted) -> bool:
    """True if nothing comes of it by itself: others are told first, before any bag acts."""
    before = run.ledger.allowance
    return event.amount is not None and (before is None or event.amount <= before)


def allotted(run: Run, event: Allotted) -> None:
    """Less binds from now on; with more, what waited for it goes on."""
    less = takes_away(run, event)
    run.ledger.allowance, run.cap = event.amount, event
    if less or not run.begun or run.phase not in dispatch.BUSY_PHASES or run.pause is not None:
        return
    waited = run.waits_for_cap
    if waited and not any(c.startable and hiring.pays_for(run, c) for c in run.clusters):
        return
    run.waits_for_cap = False
    if waited:
        left = run.ledger.left
        words = "" if left is None else f", of which {run.shown(left)} are left"
        run.say(f"goes on under {event.cap or 'no cap'}{words}")
        hiring.try_free_again(run)
    if not run.provisioner.samples:
        sampling.start_all(run)
    elif run.phase is Phase.EXECUTING and (waited or run.short_of_money):
        run.short_of_money = False
        replanning.replan(run, "a cap leaves more")


def waits(run: Run) -> bool:
    """True if a cap leaves too little to go on, and the bag's own limit may leave enough."""
    if not run.ledger.capped:
        return False
    if not run.waits_for_cap:
        run.waits_for_cap = True
        run.say(f"{run.not_done}: {held_up(run)}")
    return True
