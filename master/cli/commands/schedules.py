"""`bats schedules` and `bats choose`: what is offered after the sample, and taking an offer."""

import shutil
import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from bats.common.errors import UsageError
from bats.common.money import currency_apart, money
from bats.common.units import seconds
from bats.master.cli.base import Common, command, common
from bats.master.cli.display.formatting import amount
from bats.master.cli.display.offers import offers
from bats.master.cli.questions import ask, bag_argument

_TALL: Final = 7  # lines of the picture


@command(
    examples="""
bats schedules             what the newest bag offers
bats schedules 3 --json
"""
)
@bag_argument
@common
def schedules(common: Common, bag: int | str) -> None:
    """Shows the schedules that a bag offers after its sample."""
    facts = ask(common, "schedules", bag=bag)
    screen = shutil.get_terminal_size() if sys.stdout.isatty() else None
    common.facts(facts, lambda: offers(
        facts, width=screen and screen.columns, height=_TALL if screen else 0
    ))  # fmt: skip


@command(
    examples="""
bats choose fastest                 of the newest bag
bats choose cheapest+10% --bag 3
bats choose --budget 4.50           the fastest for that money
bats choose --deadline 2h           the cheapest in that time
"""
)
@click.argument("schedule", required=False)
@click.option("--bag", default="last", help="Which bag (default: the newest).")
@click.option("--budget", help="What all of it may cost at most.")
@click.option("--deadline", help="When it should be done, from its beginning.")
@common
def choose(
    common: Common, schedule: str | None, bag: str, budget: str | None, deadline: str | None
) -> None:
    """Chooses a schedule, by name or by a limit; also to change one's mind later."""
    if schedule is None and budget is None and deadline is None:
        raise click.UsageError("Name a schedule, or give --budget or --deadline.")
    chosen: dict[str, Any] = {"bag": int(bag) if bag.isdecimal() else bag}
    if schedule is not None:
        chosen["rule"] = schedule
    try:
        if budget is not None:
            chosen["budget"] = int(money(currency_apart(budget)[0]))
        if deadline is not None:
            chosen["deadline_seconds"] = seconds(deadline)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    facts = ask(common, "choose", **chosen)
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else taken(facts, schedule))


def taken(facts: Mapping[str, Any], schedule: str | None) -> str:
    """The schedule that was taken and the limit that holds: a budget given before stays."""
    currency = facts["currency"]
    budget = facts["budget"] and amount(facts["budget"], currency)
    what = schedule or "the limits given"
    if facts["chosen"] == "budget" and schedule is not None:
        what = f"what its budget of {budget} buys, which is less than {schedule} takes"
    elif budget is not None:
        what += f", within its budget of {budget}"
    elif schedule is not None and facts["limit"] is not None:
        what += f", for {amount(facts['limit'], currency)} in all at most"
    if facts["paused"]:
        number = facts["bag"]
        return f"Bag {number} takes {what}. It is paused: `bats resume {number}` goes on."
    return f"Bag {facts['bag']} goes on with {what}."
