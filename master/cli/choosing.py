"""`bats schedules` and `bats choose`: what is offered after the sample, and taking an offer."""

from collections.abc import Mapping
from typing import Any, Final

import click

from bats.common.errors import UsageError
from bats.common.money import money
from bats.common.units import seconds
from bats.master.cli.asking import ask, bag_argument
from bats.master.cli.base import Common, command, common
from bats.master.cli.words import amount, count, duration, mix, table

_BAR: Final = 12  # characters for the longest time


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
    common.facts(facts, lambda: offers(facts))


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
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else (
        f"Bag {facts['bag']} goes on with {schedule or 'the limits given'}."
    ))  # fmt: skip


def offers(facts: Mapping[str, Any]) -> str:
    """The schedules as a numbered table. Prices are for what is left to do."""
    found = facts["schedules"]
    if not found:
        if facts["phase"] == "sampling":
            return "The sample is still running; schedules are offered after it."
        return "There is nothing to choose: no schedule is offered."
    currency = facts["currency"]
    longest = max(one["makespan_seconds"] for one in found) or 1.0
    bounded = any(one.get("bounds") for one in found)
    head = ["", "schedule", "machines", "price", "time", ""]
    if bounded:
        head += ["90 % within", "at most", "chance"]
    rows = []
    for number, one in enumerate(found, 1):
        row = [
            number,
            one["name"] + (" <" if one["name"] == facts["chosen"] else ""),
            mix(one["mix"], facts["clusters"]),
            amount(one["cost"], currency),
            duration(one["makespan_seconds"]),
            "█" * max(1, round(_BAR * one["makespan_seconds"] / longest)),
        ]
        if bounds := one.get("bounds"):
            row += [
                duration(bounds["makespan_seconds"]),
                amount(bounds["cost"], currency),
                f"{bounds['chance_in_budget']:.0%}",
            ]
        elif bounded:
            row += ["–"] * 3
        rows.append(row)
    lines = [table(head, rows)]
    lines += [
        f"{one['name']}: {count(one['delta_n'], 'task')} may not fit into the time paid for; "
        f"{amount(one['cushion'], currency)} more pays for them."
        for one in found
        if one["delta_n"] > 0
    ]
    if facts["phase"] == "choosing":
        sample = amount(facts["committed"], currency)
        lines.append(f"The sample took {sample}; prices and times are for the rest.")
    else:
        lines.append("Prices and times are for what the sample left to do.")
    return "\n".join(lines)
