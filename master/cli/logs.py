"""`bats logs`: what a task wrote."""

import sys

import click

from bats.master.cli.asking import BagName
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.reach import look


@command(
    examples="""
bats logs last 17          what task 17 wrote to its standard output
bats logs 3 17 --err       to its standard error
bats logs 3 17 --attempt 1
"""
)
@click.argument("bag", type=BagName())
@click.argument("task", type=click.IntRange(0))
@click.option("--err", is_flag=True, help="Standard error instead of standard output.")
@click.option("--attempt", type=click.IntRange(1), help="An earlier try (default: what counts).")
@common
def logs(common: Common, bag: int | str, task: int, err: bool, attempt: int | None) -> None:
    """Prints the output of a task that has ended."""
    run(_print(common, bag, task, "err" if err else "out", attempt or 0))


async def _print(common: Common, bag: int | str, task: int, stream: str, attempt: int) -> None:
    async with look(common) as client:
        offset = 0
        while True:
            piece = await client.ask(
                "log", bag=bag, task=task, stream=stream, attempt=attempt, offset=offset
            )
            if common.as_json:
                common.facts({**piece, "stream": stream}, lambda: None)
            else:
                sys.stdout.buffer.write(piece["data"])
            offset += len(piece["data"])
            if not piece["data"] or offset >= piece["total"]:
                break
        sys.stdout.flush()
