"""`bats machines`: every machine a bag had, since when, at what cost and why it is gone.

Also those that live and are in no bag's books, and what can be done about them. `bats elasticity`
judges how many there were, `bats pools` tells of those that serve all bags.
"""

import time
from collections.abc import Sequence
from typing import Final, Literal

import click

from bats.common.errors import UnreachableError
from bats.common.offering import machine_name
from bats.master.api import replies
from bats.master.api.asking import ask as ask_of
from bats.master.api.requests import (
    FindOrphans,
    GetElasticity,
    GetLearned,
    GetMachines,
    GetMasterElasticity,
    GetPools,
)
from bats.master.cli.access import has_store, reach
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.display.formatting import amount, count, duration, table
from bats.master.cli.display.tables.elasticity_table import measures, measures_of_all
from bats.master.cli.display.tables.pool_table import pools_in_full
from bats.master.cli.display.tables.speeds_table import speeds_in_words
from bats.master.cli.questions import ask, bag_argument, limits, of_all_bags

_HOUR: Final = 3600.0


class Shown(replies.Machines, replies.Orphans):
    """Machines of a bag, and those of no bag."""


@command(
    examples="""
bats machines                    of the newest bag
bats machines 3 --json
bats machines --speeds           how much those of an offering differ
bats machines --stop-orphans     ends what lives and is in no bag's books
bats machines --adopt-orphans    has their bags take them back, as far as they can
"""
)
@bag_argument
@click.option("--stop-orphans", is_flag=True,
              help="Stop machines of this master that are in no bag's books; also those of a "
                   "master that is no more.")  # fmt: skip
@click.option("--adopt-orphans", is_flag=True,
              help="Have the bag that asked for such a machine take it back: it works again, and "
                   "is paid for from the part of its bill on that is in no books.")  # fmt: skip
@click.option("--speeds", is_flag=True,
              help="How much machines of each offering differ, by what all bags that ended "
                   "have learned.")  # fmt: skip
@common
def machines(
    common: Common, bag: int | str, stop_orphans: bool, adopt_orphans: bool, speeds: bool
) -> int:
    """Lists the machines of a bag, and those that live and are in no bag's books."""
    given = {"--stop-orphans": stop_orphans, "--adopt-orphans": adopt_orphans, "--speeds": speeds}
    wanted = [option for option, is_given in given.items() if is_given]
    if len(wanted) > 1:
        raise click.UsageError(f"One of {', '.join(wanted)} at a time.")
    for option in wanted:
        of_all_bags(option)
    if speeds:
        known = ask(common, GetLearned())
        common.facts(known, lambda: speeds_in_words(known["speeds"], time.time()))
        return 0
    if stop_orphans or adopt_orphans:
        facts = _orphans(common, "stop" if stop_orphans else "adopt")
        common.facts(facts, lambda: _orphans_in_words(facts, quiet=common.quiet), replies.Orphans)
        return 2 if facts["mute"] else 0
    shown: Shown = {**ask(common, GetMachines(bag)), **_orphans(common, "")}
    common.facts(shown, lambda: _text(shown, quiet=common.quiet), Shown)
    return 0


def _orphans(common: Common, do: str) -> replies.Orphans:
    """The master knows its books; without one, the state folder does."""

    async def asking() -> replies.Orphans:
        async with reach(common) as client:
            return await ask_of(client, FindOrphans(do))

    try:
        return run(asking())
    except UnreachableError:
        if common.access or not has_store(common) or do == "adopt":
            raise
    return _without_a_master(common, do)


def _without_a_master(common: Common, do: str) -> replies.Orphans:
    """Machines of a master that is no more. Back ends are asked only where machines may live."""
    from bats.master.plain_data import plain
    from bats.master.service.machines import unattended

    if not do and not unattended.alive_by_the_books(common.state):
        return {"orphans": [], "mute": {}}
    found, mute = run(unattended.orphans(common.state, stop=do == "stop"))
    return {"orphans": [plain(one) for one in found], "mute": mute}


@command(
    examples="""
bats elasticity                           of the newest bag
bats elasticity 3 --since 10m --until 2h  of that part of it, from its beginning
bats elasticity --most 16                 as if no more than 16 places could be had
bats elasticity --all --since 2d --until 1d   of all bags and pools, yesterday
"""
)
@bag_argument
@click.option("--all", "every", is_flag=True,
              help="All bags and pools; --since and --until say how long ago.")  # fmt: skip
@click.option("--since", help="From then on (default: from the beginning of the bag; of all, from "
              "an hour ago).")  # fmt: skip
@click.option("--until", help="Until then (default: to the last event; of all, now).")
@click.option("--most", type=click.IntRange(min=1), help="Places that there can be (default: of "
              "all offerings).")  # fmt: skip
@common
def elasticity(
    common: Common,
    bag: int | str,
    every: bool,
    since: str | None,
    until: str | None,
    most: int | None,
) -> None:
    """Measures how near the machines of a bag came to what it could use.

    Measures, letters and score are those by which autoscalers are compared (Ilyushkin 2019). Demand
    is tasks that run or may start, supply the slots of machines that have joined.
    """
    (_, begin), (_, end) = limits(None, since), limits(None, until)
    if every:
        of_all_bags("--all")
        ago = begin if begin is not None else _HOUR
        of_all = ask(common, GetMasterElasticity(ago, end or 0.0, most))
        common.facts(of_all, lambda: measures_of_all(of_all), replies.MasterElasticity)
        return
    facts = ask(common, GetElasticity(bag, begin or 0.0, end, most))
    common.facts(facts, lambda: measures(facts), replies.Elasticity)


@command(
    examples="""
bats pools                 demand, supply, money, and why the last decision was so
bats pools --json          the same for a program, with the last looks
"""
)
@common
def pools(common: Common) -> None:
    """Shows the pools of the master: demand and supply, money, and the last decision."""
    facts = ask(common, GetPools())
    names = "\n".join(one["name"] for one in facts["pools"])
    common.facts(
        facts, lambda: names if common.quiet else pools_in_full(facts["pools"]), replies.Pools
    )


def _text(facts: Shown, *, quiet: bool) -> str:
    found = facts["machines"]
    if quiet:
        return "\n".join(str(one["id"]) for one in found)
    rows = [
        (
            machine_name(one["offering"], one["id"]),
            one["state"] + (", leaving" if one.get("leaving") and one["state"] == "up" else ""),
            "" if one.get("done") is None else one["done"],
            duration(_paid(one)),
            amount(one["cost"]),
            one["address"],
            one["reason"].split("\n")[0],
        )
        for one in found
    ]
    head = ("machine", "state", "done", "charged", "cost", "address", "because")
    told = table(head, rows) if rows else "The bag has had no machine of its own."
    borrowed = _loans(facts["borrowed"], "paid by bag", "paid_by")
    lent = _loans(facts["lent"], "used by bag", "used_by")
    return "\n\n".join(
        filter(None, [told, borrowed, lent, _orphans_in_words(facts, quiet=False, short=True)])
    )


def _loans(
    loans: Sequence[replies.LoanLine], whose: str, key: Literal["paid_by", "used_by"]
) -> str:
    if not loans:
        return ""
    title = "Of other bags, at no charge:" if key == "paid_by" else "Lent, at no charge:"
    rows = [
        (
            machine_name(one["offering"], one["machine"]),
            one[key],
            one["tasks"],
            duration(one["seconds"]),
        )
        for one in loans
    ]
    return "\n".join([title, table(("machine", whose, "tasks", "in all"), rows)])


def _orphans_in_words(facts: replies.Orphans | Shown, *, quiet: bool, short: bool = False) -> str:
    """`short`: nothing at all where there is nothing to tell."""
    found = facts["orphans"]
    if quiet:
        return "\n".join(str(one["number"]) for one in found)
    said = [f"{name} does not say what it has: {why}" for name, why in facts["mute"].items()]
    if not found:
        return "\n".join(said or ([] if short else ["No machine is in no bag's books."]))
    rows = [
        (
            one["number"],
            one["bag"],
            one["offering"],
            one["address"],
            duration(one["charged_seconds"]),
            amount(one["cost"]),
            one["done"] or one["lost"] or f"bag {one['bag']} can take it back",
        )
        for one in found
    ]
    head = ("number", "bag", "offering", "address", "charged", "may cost", "")
    title = f"{count(len(found), 'machine')} in no bag's books, until stopped or the lease ends:"
    ways = "bats machines --stop-orphans"
    if any(not one["lost"] for one in found):
        ways += " or --adopt-orphans"
    advice = [] if any(one["done"] for one in found) else [ways]
    return "\n".join([title, table(head, rows), *advice, *said])


def _paid(one: replies.MachineLine) -> float | None:
    since, gone = one.get("charged_since"), one.get("gone")
    return gone - since if since is not None and gone is not None else None
