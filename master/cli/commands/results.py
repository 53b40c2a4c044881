"""`bats results`: what came of each task, as a table, CSV or JSON lines."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

import click

from bats.common.errors import UsageError, quoted
from bats.common.offering import machine_name
from bats.common.outcomes.values import TYPES, Value, as_typed, values_of
from bats.master.api.replies import TaskResult
from bats.master.cli.access import look
from bats.master.cli.base import Common, as_json, command, common, run
from bats.master.cli.display.formatting import amount, printable, runtime, shortened, table
from bats.master.cli.display.terminal import exact
from bats.master.cli.questions import bag_argument

_FACTS: Final = {
    "task": "task",
    "exit": "exit_code",
    "took": "wall_seconds",
    "cost": "cost_share",
    "memory": "peak_kib",
    "outcome": "outcome",
    "where": "cluster",
}
"""Keys to sort by besides parameters and values: as the table calls them, and as facts do."""

_WIDEST: Final = 60  # of what an output ends in


@command(
    examples="""
bats results                         of the newest bag
bats results --sort loss --bottom 5  the five with the smallest value of `loss`
bats results 3 --csv > tasks.csv     for a spreadsheet
bats results --output                and all that each task wrote
bats results --failed                only what failed
bats results --json | jq .values     a JSON object in each line
"""
)
@bag_argument
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a line for each task.")
@click.option("--failed", is_flag=True, help="Only tasks that are not done.")
@click.option("--sort", metavar="NAME", help="Smallest first: a value, a parameter, took, cost, …")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the N largest, them first.")
@click.option("--bottom", type=click.IntRange(1), metavar="N", help="Only the N smallest.")
@click.option("--output", is_flag=True, help="Also all that each task wrote to stdout.")
@common
def results(
    common: Common,
    bag: int | str,
    as_csv: bool,
    failed: bool,
    sort: str | None,
    top: int | None,
    bottom: int | None,
    output: bool,
) -> None:
    """Prints parameters, values, exit codes, times and machines of the tasks that have ended.

    Values are what a task prints in lines `name=number`, or as a JSON object in its last line.
    """
    if top and bottom:
        raise click.UsageError("--top and --bottom cannot both be had; keep one.")
    if as_csv and (common.as_json or failed or sort or top or bottom):
        raise click.UsageError(
            "--csv prints all tasks in their order; leave out --json, --failed, --sort, --top and "
            "--bottom."
        )
    if as_csv:
        run(_export(common, bag, output=output))
        return
    shown = _Shown(common, output=output)
    if sort or top or bottom:
        run(_sorted(common, bag, shown, sort or "", top, bottom, failed=failed))
    else:
        run(_all(common, bag, shown, failed=failed))
    if not shown.any and not (common.as_json or common.quiet):
        print("No such task has ended yet." if failed else "No task has ended yet.")


async def _export(common: Common, bag: int | str, *, output: bool) -> None:
    async with look(common) as client:
        parts = client.stream("export", bag=bag, format="csv", output=output, raw=common.raw)
        async for part in parts:
            exact().write(part["text"])
        sys.stdout.flush()


async def _all(common: Common, bag: int | str, shown: "_Shown", *, failed: bool) -> None:
    async with look(common) as client:
        parts = client.stream("results", bag=bag, columns=True, output=shown.output)
        async for part in parts:
            shown.show(_wanted(part["results"], failed=failed), list(part["value_types"]))


async def _sorted(
    common: Common,
    bag: int | str,
    shown: "_Shown",
    sort: str,
    top: int | None,
    bottom: int | None,
    *,
    failed: bool,
) -> None:
    found: list[TaskResult] = []
    types: dict[str, str] = {}
    value_types: dict[str, str] = {}
    async with look(common) as client:
        parts = client.stream("results", bag=bag, columns=True, output=shown.output)
        async for part in parts:
            found += _wanted(part["results"], failed=failed)
            types, value_types = part["types"], part["value_types"]
    if not found:
        return
    name = sort or _only(list(value_types))
    if name not in {*value_types, *types, *_FACTS}:
        known = [*value_types, *types, *_FACTS]
        near = get_close_matches(name, known, 1)
        what = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
        raise UsageError(f"Nothing is called {quoted(name)} to sort by; {what}")

    def key(one: TaskResult) -> Value | None:
        if name in value_types:
            value = one["values"].get(name)
            return None if value is None else as_typed(value, TYPES[value_types[name]])
        if name in types:
            given = one["parameters"].get(name)
            return None if given is None else as_typed(str(given), TYPES[types[name]])
        fact: Value | None = one[_FACTS[name]]  # type: ignore[literal-required]
        return fact

    having = [one for one in found if (k := key(one)) is not None and k == k]  # noqa: PLR0124
    having.sort(key=key, reverse=bool(top))  # type: ignore[arg-type]
    rest = [] if top or bottom else [one for one in found if (k := key(one)) is None or k != k]  # noqa: PLR0124
    shown.show([*having, *rest][: top or bottom], list(value_types))


def _only(values: Sequence[str]) -> str:
    """The key to sort by when nothing is named."""
    if len(values) == 1:
        return values[0]
    there = f"they told {', '.join(values)}" if values else "the tasks told no value; there are"
    more = "" if values else f" {', '.join(_FACTS)}"
    raise UsageError(f"Name what to sort by, --sort NAME: {there}{more}.")


def _wanted(found: Sequence[TaskResult], *, failed: bool) -> list[TaskResult]:
    return [one for one in found if not failed or one["outcome"] != "done"]


class _Shown:
    """Prints results, in as many parts as they come."""

    def __init__(self, common: Common, *, output: bool) -> None:
        self._common = common
        self.output = output
        self.any = False

    def show(self, found: Sequence[TaskResult], values: Sequence[str]) -> None:
        if not found:
            return
        if self._common.as_json:
            for one in found:
                print(as_json(one, TaskResult))
        elif self._common.quiet:
            print(*(one["task"] for one in found), sep="\n")
        elif self.output:
            for one in found:
                print(_head_line(one), one["output"].rstrip("\n"), sep="\n")
        else:
            said = _table(found, values)
            print(said.partition("\n")[2] if self.any else said)
        self.any = True


def _head_line(one: TaskResult) -> str:
    parameters = " ".join(f"{name}={value}" for name, value in one["parameters"].items())
    took = runtime(one["wall_seconds"])
    return f"==> task {one['task']}: {parameters or 'no parameters'} ({one['outcome']}, {took}) <=="


def _table(found: Sequence[TaskResult], values: Sequence[str]) -> str:
    paid = any(one["cost_share"] for one in found)
    kept = any(_files(one) for one in found)
    ends = any(_ends(one) for one in found)
    names = list(dict.fromkeys(name for one in found for name in one["parameters"]))
    told = [f"value.{name}" if name in names else name for name in values]
    head = (
        "task", *names, *told, "outcome", "exit", "took", "where",
        *(["cost"] if paid else []), *(["files"] if kept else []),
        *(["output ends in"] if ends else []),
    )  # fmt: skip
    return table(head, [_row(one, names, values, paid=paid, kept=kept, ends=ends) for one in found])


def _row(
    one: TaskResult,
    names: Sequence[str],
    values: Sequence[str],
    *,
    paid: bool,
    kept: bool,
    ends: bool,
) -> tuple[Any, ...]:
    return (
        one["task"],
        *(one["parameters"].get(name, "") for name in names),
        *(_value(one["values"].get(name, "")) for name in values),
        one["outcome"],
        one["exit_code"],
        runtime(one["wall_seconds"]),
        machine_name(one["cluster"], one["machine"]),
        *([amount(one["cost_share"])] if paid else []),
        *([shortened(" ".join(_files(one)), 40)] if kept else []),
        *([shortened(_ends(one), _WIDEST)] if ends else []),
    )


def _value(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))


def _ends(one: TaskResult) -> str:
    """The last line of its output, unless it stands in columns of its own."""
    last = (one["excerpt"] or "").strip().split("\n")[-1]
    return "" if one["values"] and values_of(last) else printable(last)


def _files(one: TaskResult) -> list[str]:
    return [name for name, *_ in one["outputs"] if name not in {"stdout", "stderr"}]
