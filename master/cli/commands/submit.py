"""`bats submit`, `add` and `close`: hand a sweep to a master, and more tasks of an open bag."""

import sys
from typing import Any

import click

from bats.master.api import replies
from bats.master.api.replies import Submitted
from bats.master.api.requests import Close, GetStatus
from bats.master.cli import sweep_options
from bats.master.cli.access import reach
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.display.formatting import count
from bats.master.cli.questions import BagName, ask, bag_argument, change
from bats.master.client import Bag


@command(
    examples="""
bats submit sweep.toml                                   a file
bats submit sweep.toml --budget 5 --clouds clouds.toml
bats submit -p x=0:1:0.1 -p seed=1,2,3 -- python sim.py {x} {seed}
bats submit --array 1-1000:2 -- ./job.sh {array}
ls *.dat | bats submit - -- gzip {line}
bats submit - < commands.txt
bats submit --open -- python sim.py {x}                  tasks are added later: bats add
bats submit sweep.toml --dry-run
"""
)
@sweep_options.sweep_options
@click.option("--open", "to_be_open", is_flag=True,
              help="Tasks are added while it runs, until `bats close`.")  # fmt: skip
@click.option("--hold", is_flag=True, help="Do not begin before it is released.", hidden=True)
@click.option("--after", "others", multiple=True, metavar="BAG", help="Begin when it has ended.")
@click.option("--weight", type=click.IntRange(1, 1000), help="Its part of shared machines (1).")
@click.option("--priority", type=click.IntRange(-1000, 1000),
              help="Higher ones come first, if the master shares by priority.")  # fmt: skip
@common
def submit(
    common: Common,
    /,
    words: tuple[str, ...],
    to_be_open: bool,
    hold: bool,
    others: tuple[str, ...],
    weight: int | None,
    priority: int | None,
    **given: Any,
) -> None:
    """Submits a bag of tasks and prints its number.

    Without a limit or a rule it waits, after its sample, for `bats choose`. Machines that cost
    nothing need no choice.
    """
    want = sweep_options.wanted(
        words,
        given,
        find_clouds=False,
        after=sweep_options.after_dashes(words),
        to_be_open=to_be_open,
    )
    if given["dry_run"]:
        plan, said = sweep_options.dry_run(want)
        common.facts(plan, lambda: said, sweep_options.DryRun)
        return
    free = want.clouds is not None and all(one.free for one in want.clouds.for_bags)
    rule = want.rule or ("fastest" if free else "ask")

    async def submitting() -> Submitted:
        async with reach(common) as client:
            return await sweep_options.submit(
                client,
                want,
                rule=rule,
                hold=hold,
                after=list(others),
                weight=weight,
                priority=priority,
            )

    facts = run(submitting())
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else (
        f"Bag {facts['bag']} ({facts['name']}): {count(facts['tasks'], 'task')}. "
        f"Follow it with: bats watch {facts['bag']}"
        + (f"\nIt is open: add tasks with {_how_to_add(facts['bag'], want.sweep.names)}, then "
           f"bats close {facts['bag']}" if to_be_open else "")
        + (f"\nIt waits: {facts['waits']}." if facts["waits"] else "")
    ))  # fmt: skip


def _how_to_add(bag: int, names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f"bats add {bag} VALUE..."
    return f"bats add {bag} {' '.join(f'-p {name}=VALUES' for name in names)}"


@command(
    examples="""
bats add 3 0.1 0.2 0.3                   three tasks, of a bag with one parameter
bats add 3 -p alpha=0:1:0.1 -p seed=1:5  all combinations
bats add last --csv points.csv           a task for each row
generate | bats add 3 -                  a task for each line
bats add 3 --key monday 7 8              once, however often this is repeated
"""
)
@click.argument("bag", type=BagName())
@click.argument("words", nargs=-1, metavar="[VALUES... | -]")
@click.option("-p", "--param", "parameters", multiple=True, metavar="NAME=VALUES",
              help="A parameter: `seed=1,2,3`, `alpha=0:1:0.1` or `name=@file`.")  # fmt: skip
@click.option("--zip", "zipped", multiple=True, metavar="NAME=VALUES",
              help="Likewise; these go together row by row.")  # fmt: skip
@click.option("--csv", "csv_file", default="", metavar="FILE", help="A task for each row.")
@click.option("--key", default="", help="What was added with this key is not added again.")
@common
def add(
    common: Common,
    bag: int | str,
    words: tuple[str, ...],
    parameters: tuple[str, ...],
    zipped: tuple[str, ...],
    csv_file: str,
    key: str,
) -> None:
    """Adds tasks to an open bag; they are durable when it says so."""
    from bats.master.sweep.arguments import values_to_add

    known = ask(common, GetStatus(bag))
    lines = sys.stdin if words and words[-1] == "-" else None
    space = values_to_add(
        known["parameters"],
        words[:-1] if lines else words,
        parameters=parameters,
        zipped=zipped,
        csv_file=csv_file,
        lines=lines,
    )

    async def adding() -> replies.Added:
        async with reach(common) as client:
            return await Bag(client, known["bag"]).add(space, key=key)

    facts = run(adding())
    common.facts(facts, lambda: str(facts["bag"]) if common.quiet else _added(facts), replies.Added)


def _added(facts: replies.Added) -> str:
    first, last = facts["first"], facts["first"] + facts["tasks"] - 1
    which = f"task {first}" if first == last else f"tasks {first} to {last}"
    if facts["again"]:
        return f"Bag {facts['bag']} has had {which} by that key before; nothing was added."
    return f"Bag {facts['bag']} has {which} now, {count(facts['total'], 'task')} in all."


@command(
    examples="""
bats close                 the newest bag
bats close 3
"""
)
@bag_argument
@common
def close(common: Common, bag: int | str) -> None:
    """Adds no more tasks to an open bag: it ends when those it has have ended."""
    change(
        common,
        Close(bag),
        lambda of: f"Bag {of['bag']} gets no more tasks; it ends when those it has have ended.",
    )
