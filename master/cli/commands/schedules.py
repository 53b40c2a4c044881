"""`bats schedules` and `bats choose`: what is offered after the sample, and taking an offer."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from bats.common.errors import UsageError
from bats.common.money import money
from bats.common.units import seconds
from bats.master.cli.base import Common, command, common
from bats.master.cli.display.formatting import amount, count, duration, mix, shortened, table
from bats.master.cli.display.scatter import scatter
from bats.master.cli.questions import ask, bag_argument

_MIX: Final = 2  # the column of the mixes
_LEAST_MIX: Final = 8  # characters that are left of one
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
            chosen["budget"] = int(money(budget))
        if deadline is not None:
            chosen["deadline_seconds"] = seconds(deadline)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    facts = ask(common, "choose", **chosen)
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else taken(facts, schedule))


def taken(facts: Mapping[str, Any], schedule: str | None) -> str:
    """What it goes on with, and which limit holds: a budget given before stays."""
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


def offers(facts: Mapping[str, Any], *, width: int | None = None, height: int = 0) -> str:
    """The schedules as a numbered table, and a picture of them in so many lines if that is given.

    Prices are for what is left to do. A `width` shortens the mixes until the table fits.
    """
    found = facts["schedules"]
    if not found:
        if facts["phase"] == "sampling":
            return "The sample is still running; schedules are offered after it."
        return "There is nothing to choose: no schedule is offered."
    currency = facts["currency"]
    head, rows = _columns(facts)
    said = table(head, rows)
    over = max(map(len, said.split("\n"))) - width if width else 0
    if over > 0:
        room = max(_LEAST_MIX, max(len(row[_MIX]) for row in rows) - over)
        for row in rows:
            row[_MIX] = shortened(row[_MIX], room)
        said = table(head, rows)
    lines = [said]
    if height and (drawn := scatter(found, currency, width=width or 80, height=height)):
        lines += ["", drawn, ""]
    lines += _risks(found, currency)
    if any(one.get("bounds") for one in found):
        lines.append("at most, within: with 90 % confidence; chance: that its budget will do")
    sample = amount(facts["committed"], currency)
    lines.append(f"The sample took {sample}; prices and times are for the rest.")
    return "\n".join(lines)


def _risks(found: Sequence[Mapping[str, Any]], currency: str) -> Iterator[str]:
    """Which schedules may leave tasks over, and what would pay for those."""
    alike: dict[tuple[int, int], list[str]] = {}
    for number, one in enumerate(found, 1):
        if one["delta_n"] > 0:
            alike.setdefault((one["delta_n"], one["cushion"]), []).append(str(number))
    for (tasks, cushion), numbers in alike.items():
        yield (
            f"{', '.join(numbers)}: {count(tasks, 'task')} may not fit into the time paid for; "
            f"{amount(cushion, currency)} more would pay"
        )


def _columns(facts: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    found, currency = facts["schedules"], facts["currency"]
    bounded = any(one.get("bounds") for one in found)
    head = ["", "schedule", "machines", "price", "time"]
    if bounded:
        head = [*head[:4], "at most", "time", "within", "chance"]
    rows = []
    for number, one in enumerate(found, 1):
        price, time = amount(one["cost"], currency), duration(one["makespan_seconds"])
        row = [
            str(number),
            one["name"] + (" <" if one["name"] == facts["chosen"] else ""),
            mix(one["mix"], facts["clusters"]),
        ]
        if bounds := one.get("bounds"):
            row += [price, amount(bounds["cost"], currency)]
            row += [time, duration(bounds["makespan_seconds"]), f"{bounds['chance_in_budget']:.0%}"]
        else:
            row += [price, "–", time, "–", "–"] if bounded else [price, time]
        rows.append(row)
    return head, rows
