"""`bats machines`: every machine a bag had, since when, at what cost and why it is gone."""

from collections.abc import Mapping
from typing import Any

from bats.master.cli.asking import ask, bag_argument
from bats.master.cli.base import Common, command, common
from bats.master.cli.words import amount, duration, table


@command(
    examples="""
bats machines              of the newest bag
bats machines 3 --json
"""
)
@bag_argument
@common
def machines(common: Common, bag: int | str) -> None:
    """Lists the machines of a bag."""
    facts = ask(common, "machines", bag=bag)
    common.facts(facts, lambda: _text(facts["machines"], quiet=common.quiet))


def _text(found: list[Mapping[str, Any]], *, quiet: bool) -> str:
    if quiet:
        return "\n".join(str(one["id"]) for one in found)
    rows = [
        (
            one["id"],
            one["offering"],
            one["state"],
            "" if one.get("done") is None else one["done"],
            duration(_paid(one)),
            amount(one["cost"]),
            one["address"],
            one["reason"].split("\n")[0],
        )
        for one in found
    ]
    head = ("machine", "offering", "state", "done", "charged", "cost", "address", "gone because")
    return table(head, rows) if rows else "The bag has had no machine yet."


def _paid(one: Mapping[str, Any]) -> float | None:
    since, gone = one.get("charged_since"), one.get("gone")
    return gone - since if since is not None and gone is not None else None
