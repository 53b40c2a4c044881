"""`bats submit`: hands a sweep to a master."""

from typing import Any

import click

from bats.master.api.replies import Submitted
from bats.master.cli import sweep_options
from bats.master.cli.access import reach
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.display.formatting import count


@command(
    examples="""
bats submit sweep.toml                                   a file
bats submit sweep.toml --budget 5 --clouds clouds.toml
bats submit -p x=0:1:0.1 -p seed=1,2,3 -- python sim.py {x} {seed}
bats submit --array 1-1000:2 -- ./job.sh {array}
ls *.dat | bats submit - -- gzip {line}
bats submit - < commands.txt
bats submit sweep.toml --dry-run
"""
)
@sweep_options.sweep_options
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
        words, given, find_clouds=False, after=sweep_options.after_dashes(words)
    )
    if given["dry_run"]:
        plan, said = sweep_options.dry_run(want)
        common.facts(plan, lambda: said, sweep_options.DryRun)
        return
    free = want.clouds is not None and all(one.free for one in want.clouds.offerings)
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
        + (f"\nIt waits: {facts['waits']}." if facts["waits"] else "")
    ))  # fmt: skip
