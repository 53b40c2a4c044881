"""A bag under a cap: what of its money others have, in words."""

from bats.master.brain.views.readonly import Phase, RunView


def whose_money(run: RunView) -> str:
    """The one that leaves too little: `the cap of $5.00 a day`, or the bag's own budget."""
    return f"the cap of {run.cap.cap}" if run.ledger.capped else "the budget"


def still_held_up(run: RunView) -> str:
    """The words of `held_up` while a bag waits for its cap; an ended one waits for none."""
    return held_up(run) if run.waits_for_cap and run.phase is not Phase.ENDED else ""


def held_up(run: RunView) -> str:
    """`the cap of $5.00 a day leaves too little for another machine until 2026-11-21 00:00 UTC`"""
    until = f" until {run.cap.until}" if run.cap.until else ""
    return f"{whose_money(run)} leaves too little for another machine{until}"
