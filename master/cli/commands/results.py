"""`bats results`: what came of each task, as a table, CSV or JSON lines."""

import sys
from collections.abc import Mapping
from typing import Any

import click

from bats.master.cli.base import Common, as_json, command, common, run
from bats.master.cli.connection import look
from bats.master.cli.display.formatting import amount, duration, shortened, table
from bats.master.cli.questions import bag_argument


@command(
    examples="""
bats results                         of the newest bag
bats results 3 --csv > tasks.csv     for a spreadsheet
bats results --failed                only what failed
bats results --json | jq .exit_code  a JSON object in each line
"""
)
@bag_argument
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a line for each task.")
@click.option("--failed", is_flag=True, help="Only tasks that are not done.")
@common
def results(common: Common, bag: int | str, as_csv: bool, failed: bool) -> None:
    """Prints parameters, exit codes, times and machines of the tasks that have ended."""
    if as_csv and (common.as_json or failed):
        raise click.UsageError("--csv prints all tasks; leave out --json and --failed.")
    run(_export(common, bag) if as_csv else _results(common, bag, failed=failed))


async def _export(common: Common, bag: int | str) -> None:
    async with look(common) as client:
        async for part in client.stream("export", bag=bag, format="csv"):
            sys.stdout.write(part["text"])
        sys.stdout.flush()


async def _results(common: Common, bag: int | str, *, failed: bool) -> None:
    first = True
    async with look(common) as client:
        async for part in client.stream("results", bag=bag):
            found = [one for one in part["results"] if not failed or one["outcome"] != "done"]
            if common.as_json:
                for one in found:
                    print(as_json(one))
            elif common.quiet:
                print(*(one["task"] for one in found), sep="\n")
            elif found:
                paid = any(one["cost_share"] for one in found)
                kept = any(_files(one) for one in found)
                rows = [_row(one, paid=paid, kept=kept) for one in found]
                said = table(_head(found, paid=paid, kept=kept), rows)
                print(said if first else said.partition("\n")[2])
                first = False
    if first and not (common.as_json or common.quiet):
        print("No such task has ended yet." if failed else "No task has ended yet.")


def _head(found: list[Mapping[str, Any]], *, paid: bool, kept: bool) -> tuple[str, ...]:
    more = (*(["cost"] if paid else []), *(["files"] if kept else []))
    names = found[0]["parameters"]
    return ("task", *names, "outcome", "exit", "took", "where", *more, "output ends in")


def _row(one: Mapping[str, Any], *, paid: bool, kept: bool) -> tuple[Any, ...]:
    last = (one["excerpt"] or "").strip().split("\n")[-1]
    where = f"{one['cluster']} {one['machine']}"
    return (
        one["task"],
        *one["parameters"].values(),
        one["outcome"],
        one["exit_code"],
        duration(one["wall_seconds"]),
        where,
        *([amount(one["cost_share"])] if paid else []),
        *([shortened(" ".join(_files(one)), 40)] if kept else []),
        last[:60],
    )


def _files(one: Mapping[str, Any]) -> list[str]:
    return [name for name, *_ in one["outputs"] if name not in {"stdout", "stderr"}]
