"""`bats allow`, `cancel`, `pause`: the user's word to a bag; `bats cap`, `placement`: to all."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import click

from bats.common.errors import UnreachableError, UsageError
from bats.common.money import currency_apart, money
from bats.master.api import replies
from bats.master.api.requests import (
    Allow,
    Cancel,
    GetBags,
    GetCaps,
    GetPlacement,
    LeaveOut,
    OfBag,
    Pause,
    RemoveCap,
    Resume,
    Retry,
    SetCap,
    SetPlacement,
    Weigh,
)
from bats.master.cli.access import has_store
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.display.formatting import amount, count, table
from bats.master.cli.display.overview import caps_in_words
from bats.master.cli.questions import BagName, ask, bag_argument, change, limits
from bats.master.client import Bag, Client

if TYPE_CHECKING:
    from bats.master.bag import Bag as BagOnDisk

R = TypeVar("R")

_MOST_DROPPED: Final = 10_000_000
_FOR_GOOD: Final = "ever"
_DONE: Final = ("complete", "with failures")


@command(
    examples="""
bats cancel                the newest bag
bats cancel 3 --reason "wrong seed"
"""
)
@bag_argument
@click.option("--reason", default="cancelled by the user", help="Kept with the bag.")
@common
def cancel(common: Common, bag: int | str, reason: str) -> None:
    """Ends a bag: running tasks are killed, machines stopped, results kept."""
    change(
        common,
        Cancel(bag, reason),
        lambda of: f"Bag {of['bag']} is cancelled; what is done is kept: bats results {of['bag']}",
    )


@command(
    examples="""
bats allow --budget 12.50       the newest bag may cost so much in all
bats allow 3 --deadline 2h      and take so long from its beginning
"""
)
@bag_argument
@click.option("--budget", help="What all of it may cost at most.")
@click.option("--deadline", help="When it should be done, from its beginning.")
@common
def allow(common: Common, bag: int | str, budget: str | None, deadline: str | None) -> None:
    """Allows a bag more money or time; what was chosen stays.

    One that waits for money goes on at once, and so does one that had run out of it.
    """
    if budget is None and deadline is None:
        raise click.UsageError("Give --budget, --deadline or both.")
    at_most, within = limits(budget, deadline)
    change(common, Allow(bag, at_most, within), partial(_allowed, deadline))


def _allowed(deadline: str | None, facts: replies.Allowed) -> str:
    said = f"Bag {facts['bag']} goes on"
    if facts["budget"] is not None:
        said += f", for {amount(facts['budget'], facts['currency'])} in all at most"
    return said + (f", to be done {deadline} after its beginning." if deadline else ".")


@command(
    examples="""
bats drop last 17 18            leaves two tasks out
bats drop 3 900:999             and a hundred
"""
)
@bag_argument
@click.argument("tasks", nargs=-1, required=True, metavar="TASK|FIRST:LAST...")
@common
def drop(common: Common, bag: int | str, tasks: tuple[str, ...]) -> None:
    """Does without tasks that wait or run, so that time or money lasts for the others."""
    numbers = [number for written in tasks for number in _numbers(written)]
    change(
        common,
        LeaveOut(bag, tasks=numbers),
        lambda of: f"Bag {of['bag']} does without {count(of['tasks'], 'task')}.",
    )


def _numbers(written: str) -> range:
    first, colon, last = written.partition(":")
    if not first.isdecimal() or (colon and not last.isdecimal()):
        raise click.UsageError(f"{written!r} is no task: give its number, or FIRST:LAST.")
    low, high = int(first), int(last or first)
    if not low <= high < low + _MOST_DROPPED:
        raise click.UsageError(f"{written}: the first is not above the last, within ten millions.")
    return range(low, high + 1)


@command(
    examples="""
bats retry                 all failed tasks of the newest bag
bats retry 3 --task 17 --task 18
"""
)
@bag_argument
@click.option("--failed", is_flag=True, help="All that failed or were given up (the default).")
@click.option("--task", "tasks", type=click.IntRange(0), multiple=True, help="Only this one.")
@common
def retry(common: Common, bag: int | str, failed: bool, tasks: tuple[int, ...]) -> int:
    """Tries failed tasks again, also of a bag that has ended.

    Where no master runs it is run here, like `bats run`.
    """
    if failed and tasks:
        raise click.UsageError("--failed means all failed tasks; leave it or --task out.")

    async def here(there: Bag, _: "BagOnDisk") -> str:
        return _retried(await there.retry(tasks or None))

    return _by_a_master_or_here(common, Retry(bag, list(tasks) or "failed"), _retried, here)


def _retried(facts: replies.Retried) -> str:
    return f"Bag {facts['bag']}: {count(facts['tasks'], 'task')} to be tried again."


@command(
    examples="""
bats pause                 the newest bag
bats pause 3 --reason "the licence server is down"
"""
)
@bag_argument
@click.option("--reason", default="paused by the user", help="Kept with the bag.")
@common
def pause(common: Common, bag: int | str, reason: str) -> None:
    """Lets a bag stand still: it begins and buys nothing; what runs may end in its paid time."""
    change(
        common,
        Pause(bag, reason),
        lambda of: f"Bag {of['bag']} is paused; it goes on with: bats resume {of['bag']}",
    )


@command(
    examples="""
bats weigh 3 2             bag 3 counts twice: it gets two parts where others get one
bats weigh 3 --priority 1  before all of a lower priority, with `bats master --sharing priority`
"""
)
@bag_argument
@click.argument("weight", type=click.IntRange(1, 1000), required=False)
@click.option("--priority", type=click.IntRange(-1000, 1000),
              help="Higher ones come first, if the master shares by priority.")  # fmt: skip
@common
def weigh(common: Common, bag: int | str, weight: int | None, priority: int | None) -> None:
    """Gives a bag another part of the machines that bags share, while they run."""
    if weight is None and priority is None:
        raise click.UsageError("Say a weight, a --priority, or both.")
    change(
        common,
        Weigh(bag, weight, priority),
        lambda of: f"Bag {of['bag']} has weight {of['weight']} and priority {of['priority']}.",
    )


@command(
    examples="""
bats placement                     which one decides, and which there are
bats placement critical-path       the first bag, its task of the longest way to the end
bats placement reserve:0.8         keeps slots for bags that came earlier
bats placement random              as usual: bags share, tasks go by chance
"""
)
@click.argument("name", default="")
@common
def placement(common: Common, name: str) -> None:
    """Says which task of which bag goes first on the machines that all bags use.

    It changes while bags run: at once for what begins next, never for what runs. The thesis's short
    names are known, too: bf, cpp, fwp, fdws, hr, sr, slop:F, fes:N.
    """
    told = ask(common, SetPlacement(placement=name)) if name else ask(common, GetPlacement())
    rows = [(_mark(told["placement"], one["name"]), one["words"]) for one in told["known"]]
    common.facts(
        told, lambda: told["placement"] if common.quiet else table(("placement", ""), rows)
    )


def _mark(chosen: str, name: str) -> str:
    return f"* {chosen}" if chosen.partition(":")[0] == name else f"  {name}"


@command(
    examples="""
bats resume                the newest bag; if that is done, the newest that stands still
bats resume 3
"""
)
@click.argument("bag", type=BagName(), required=False)
@common
def resume(common: Common, bag: int | str | None) -> int:
    """Goes on with a bag that stands still: paused, cancelled, or left by its master.

    Where no master runs it is run here, like `bats run`. What failed alike and paused it is tried
    again; what else failed is for `bats retry`.
    """
    if bag is None:
        bag = to_resume(ask(common, GetBags())["bags"])

    async def here(there: Bag, known: "BagOnDisk") -> str:
        from bats.master.bag_states import OPEN, PAUSED

        if known.state not in OPEN or known.state == PAUSED:  # others go on by themselves
            await there.resume()
        return f"bag {there.number} ({known.name}) goes on"

    return _by_a_master_or_here(common, Resume(bag), _resumed, here)


def _resumed(facts: replies.Told) -> str:
    return f"Bag {facts['bag']} goes on" + (" in a moment." if facts["state"] == "queued" else ".")


def to_resume(bags: Sequence[replies.BagLine]) -> int | str:
    """The bag that is meant if none is named. What was cancelled before the newest stays so."""
    still = [one["bag"] for one in bags if one.get("paused") or one.get("unserved_since")]
    if still and bags[-1]["state"] in _DONE:
        return still[-1]
    return "last"


def _by_a_master_or_here(
    common: Common,
    request: OfBag[R],
    words: Callable[[R], str],
    here: "Callable[[Bag, BagOnDisk], Awaitable[str]]",
) -> int:
    """The exit code of a change by the master that runs; else here, by one of this process's own.

    `here` has that one do it, and says so.
    """
    try:
        change(common, request, words)
    except UnreachableError:
        if common.access or not has_store(common):
            raise
        return _here(common, request.bag, here)
    return 0


def _here(
    common: Common, bag: int | str, go_on: "Callable[[Bag, BagOnDisk], Awaitable[str]]"
) -> int:
    from bats.master.bag import read_bag
    from bats.master.cli.own_master import Place, Run, is_person
    from bats.master.queries.question import find_bag
    from bats.master.store.reader import Reader

    with Reader(common.state) as reader:
        number = find_bag(reader, bag)
        known = read_bag(reader, number)

    async def begun(client: Client, _: str) -> int:
        common.note(await go_on(Bag(client, number), known))
        return number

    settings = known.settings
    place = Place(settings.offerings, settings.currency)
    return run(Run(common, place, settings.rule, begun, person=is_person(common)).all())


@command(
    examples="""
bats cap                                     what stands, what is left, and until when
bats cap set 5 --per day                     all bags together, no more than $5 a day
bats cap set 100 --per month --user ann --zone Europe/Berlin
bats cap set 500                             for good
bats cap remove --per day
"""
)
@click.argument("what", type=click.Choice(["show", "set", "remove"]), default="show",
                metavar="[set|remove]")  # fmt: skip
@click.argument("at_most", default="", metavar="[AMOUNT]")
@click.option("--per", type=click.Choice(["day", "week", "month", "ever"]),
              help="The time in which so much may be spent (ever: for good).")  # fmt: skip
@click.option("--user", default="", help="Only the bags of this user.")
@click.option("--zone", default="", help="The time zone of days, as Europe/Berlin (UTC).")
@common
def cap(common: Common, what: str, at_most: str, per: str | None, user: str, zone: str) -> None:
    """Caps what all bags of a master, or of a user, may spend in all.

    Nothing is bought that cannot be reserved under every cap. What does not fit waits for the next
    day, week or month; machines that cost nothing go on.
    """
    if bool(at_most) != (what == "set"):
        raise click.UsageError("`set` needs an amount, others none.")
    if what == "show" and (per or user):
        raise click.UsageError(f"{'--per' if per else '--user'} goes with `set` or `remove`.")
    if what != "set" and zone:
        raise click.UsageError("--zone goes with `set`.")
    if what == "set":
        try:
            wanted = money(currency_apart(at_most)[0])
        except ValueError as error:
            raise UsageError(f"{error}.") from None
        told = ask(common, SetCap(amount=wanted, period=per or _FOR_GOOD, user=user, zone=zone))
    elif what == "remove":
        told = ask(common, RemoveCap(period=per or _FOR_GOOD, user=user))
    else:
        told = ask(common, GetCaps())
    common.facts(told, lambda: caps_in_words(told["caps"]), replies.Caps)
