"""`bats cancel`, `bats retry` and `bats resume`: the user's word to a bag."""

import click

from bats.common.errors import UnreachableError
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.connection import has_store
from bats.master.cli.display.formatting import count
from bats.master.cli.questions import ask, bag_argument
from bats.master.client import Client


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
    facts = ask(common, "cancel", bag=bag, reason=reason)
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else (
        f"Bag {facts['bag']} is cancelled; what is done is kept: bats results {facts['bag']}"
    ))  # fmt: skip


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
def retry(common: Common, bag: int | str, failed: bool, tasks: tuple[int, ...]) -> None:
    """Tries failed tasks again, also of a bag that has ended."""
    if failed and tasks:
        raise click.UsageError("--failed means all failed tasks; leave it or --task out.")
    facts = ask(common, "retry", bag=bag, tasks=list(tasks) or "failed")
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else (
        f"Bag {facts['bag']}: {count(facts['tasks'], 'task')} to be tried again."
    ))  # fmt: skip


@command(
    examples="""
bats resume                the newest bag
bats resume 3
"""
)
@bag_argument
@common
def resume(common: Common, bag: int | str) -> int:
    """Goes on with a bag that stands still: paused, cancelled, or left by its master.

    Where no master runs it is run here, like `bats run`. What failed alike and paused it is tried
    again; what else failed is for `bats retry`.
    """
    try:
        facts = ask(common, "resume", bag=bag)
    except UnreachableError:
        if common.access or not has_store(common):
            raise
        return _here(common, bag)
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else (
        f"Bag {facts['bag']} goes on"
        + (" as soon as the one that runs has ended." if facts["state"] == "queued" else ".")
    ))  # fmt: skip
    return 0


def _here(common: Common, bag: int | str) -> int:
    """Under a master of this process's own."""
    from bats.master.bag import OPEN, PAUSED, bag_from
    from bats.master.cli.commands.run import Place, Run, is_person
    from bats.master.queries.question import find_bag
    from bats.master.store.reader import Reader

    with Reader(common.state) as reader:
        number = find_bag(reader, bag)
        known = bag_from(reader.bag(number))

    async def begun(client: Client, _: str) -> int:
        if known.state not in OPEN or known.state == PAUSED:  # others go on by themselves
            await client.ask("resume", bag=number)
        common.note(f"bag {number} ({known.name}) goes on")
        return number

    settings = known.settings
    place = Place(settings.offerings, settings.currency)
    return run(Run(common, place, settings.rule, begun, person=is_person(common)).all())
