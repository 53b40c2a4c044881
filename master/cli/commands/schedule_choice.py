"""`bats schedules` and `bats choose`: what is offered after the sample, and taking an offer."""

import shutil
import sys
from functools import partial
from typing import Final

import click

from bats.master.api import replies
from bats.master.api.requests import Choose, GetFrontier, GetSchedules
from bats.master.cli.base import Common, command, common
from bats.master.cli.display import strategies
from bats.master.cli.display.formatting import amount
from bats.master.cli.display.offers import offers
from bats.master.cli.questions import BagName, ask, bag_argument, change, limits

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
    facts = ask(common, GetSchedules(bag))
    screen = shutil.get_terminal_size() if sys.stdout.isatty() else None
    shown = partial(offers, width=screen and screen.columns, height=_TALL if screen else 0)
    common.facts(facts, lambda: shown(facts), replies.Schedules)


@command(
    examples="""
bats choose fastest                 of the newest bag
bats choose 3 cheapest+10%          of bag 3; --bag 3 says the same
bats choose --budget 4.50           the fastest for that money
bats choose --deadline 2h           the cheapest in that time
bats choose --strategy "N=2 T=60 D=120 M_r=0.1"     one of bats frontier
"""
)
@click.argument("words", nargs=-1, metavar="[BAG] [SCHEDULE]")
@click.option("--bag", type=BagName(), help="Which bag (default: the newest).")
@click.option("--budget", help="What all of it may cost at most.")
@click.option("--deadline", help="When it should be done, from its beginning.")
@click.option("--strategy", help="A strategy for unreliable machines, instead of a schedule.")
@common
def choose(
    common: Common,
    words: tuple[str, ...],
    bag: int | str | None,
    budget: str | None,
    deadline: str | None,
    strategy: str | None,
) -> None:
    """Chooses a schedule, by name or by a limit; also to change one's mind later."""
    bag, schedule = meant(words, bag)
    if strategy and (schedule or budget or deadline):
        raise click.UsageError("A strategy is chosen alone, without a schedule or limits.")
    if strategy:
        change(common, Choose(bag or "last", strategy=strategy), _preferred)
        return
    if schedule is None and budget is None and deadline is None:
        raise click.UsageError("Name a schedule, or give --budget or --deadline.")
    at_most, within = limits(budget, deadline)
    wanted = Choose(bag, schedule or "fastest", at_most, deadline_seconds=within)
    change(common, wanted, partial(taken, schedule))


def meant(words: tuple[str, ...], bag: int | str | None) -> tuple[int | str, str | None]:
    """The bag and the schedule, in either order: a schedule is called by no number."""
    bags = [int(word) if word.isdecimal() else word for word in words if _is_bag(word)]
    schedules = [word for word in words if not _is_bag(word)]
    if bag is not None:
        bags.insert(0, bag)
    if len(bags) > 1:
        raise click.UsageError(f"One bag at a time: {bags[0]} or {bags[1]}.")
    if len(schedules) > 1:
        raise click.UsageError(f"One schedule at a time: {schedules[0]} or {schedules[1]}.")
    return (bags[0] if bags else "last"), (schedules[0] if schedules else None)


def _is_bag(word: str) -> bool:
    return word.isdecimal() or word == "last"


def _preferred(facts: replies.Chosen) -> str:
    number, strategy = facts["bag"], facts["chosen"]
    if facts["paused"]:
        return f"Bag {number} takes {strategy}. It is paused: `bats resume {number}` goes on."
    return f"Bag {number} goes on by the strategy {strategy}."


def taken(schedule: str | None, facts: replies.Chosen) -> str:
    """The schedule that was taken and the limit that holds: a budget given before stays."""
    currency = facts["currency"]
    budget = facts["budget"] and amount(facts["budget"], currency)
    what = schedule.lower() if schedule else "the limits given"
    if facts["chosen"] == "budget" and schedule is not None:
        what = f"what its budget of {budget} buys, which is less than {what} takes"
    elif budget is not None:
        what += f", within its budget of {budget}"
    elif schedule is not None and facts["limit"] is not None:
        what += f", for {amount(facts['limit'], currency)} in all at most"
    if facts["paused"]:
        number = facts["bag"]
        return f"Bag {number} takes {what}. It is paused: `bats resume {number}` goes on."
    return f"Bag {facts['bag']} goes on with {what}."


@command(
    examples="""
bats frontier                          of the newest bag
bats frontier 3 --pick cheapest --deadline 2h
bats frontier --pick "cost + 0.5 * makespan"
"""
)
@bag_argument
@click.option(
    "--pick",
    default="product",
    metavar="HOW",
    help="The best by: product (usual), cheapest, fastest, or a formula of makespan (hours) and "
    "cost that is to be small.",
)
@click.option("--budget", help="What the rest may cost at most.")
@click.option("--deadline", help="In what time the rest should be done.")
@common
def frontier(
    common: Common, bag: int | str, pick: str, budget: str | None, deadline: str | None
) -> None:
    """Shows what strategies for unreliable machines would come to, by what the bag has learned.

    They are for the tasks that are left, or, of a bag that is done, for one more like it. A
    strategy is taken as `--tail ntdmr --strategy "…"` of `bats run` and `bats submit`.
    """
    at_most, within = limits(budget, deadline)
    facts = ask(common, GetFrontier(bag, pick, at_most, within))
    common.facts(facts, lambda: strategies.said(facts), replies.Frontier)
