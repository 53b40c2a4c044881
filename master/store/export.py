"""Writes runs out as JSONL and CSV, row by row, whatever their size."""

import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TextIO

from bats.common.messages import BagId, Result, TaskId
from bats.common.money import as_decimal
from bats.master.store.reader import Reader
from bats.master.store.results import TOLD, told
from bats.master.store.rows import MachineRow

Values = Callable[[TaskId], Sequence[str]]
"""A task's parameters by its sweep; the store does not know them."""


def tasks_as_jsonl(
    rows: Iterable[Result], out: TextIO, names: Sequence[str] = (), values: Values = lambda _: ()
) -> None:
    """One object a line; the parameters are under `parameters`."""
    for row in rows:
        facts = told(row)
        if names:
            facts["parameters"] = dict(zip(names, values(row.task), strict=True))
        _line(out, facts)


def tasks_as_csv(
    rows: Iterable[Result],
    out: TextIO,
    names: Sequence[str] = (),
    values: Values = lambda _: (),
    more: Mapping[str, Callable[[Result], object]] = MappingProxyType({}),
    value_names: Sequence[str] = (),
) -> None:
    """A heading, then a line a task; parameters are columns, and so are values of these names.

    Where the name is taken, they are called `param.NAME` and `value.NAME`.
    """
    columns = [field for field in TOLD if field != "outputs"]
    writer = csv.writer(out, lineterminator="\n")
    parameters = headings(names, {*columns, *more}, "param")
    writer.writerow(
        [
            *columns,
            *more,
            *parameters,
            *headings(value_names, {*columns, *more, *parameters}, "value"),
        ]
    )
    for row in rows:
        facts = told(row)
        added = [column(row) for column in more.values()]
        said = [facts["values"].get(name, "") for name in value_names]
        writer.writerow([*(facts[column] for column in columns), *added, *values(row.task), *said])


def headings(names: Iterable[str], taken: Collection[str], kind: str) -> list[str]:
    """What columns of these names are called."""
    return [f"{kind}.{name}" if name in taken else name for name in names]


def run_as_jsonl(reader: Reader, bag: BagId, out: TextIO) -> None:
    """All that is known of a run, for an archive: `kind` says what each line is."""
    for kind, facts in _run(reader, bag):
        _line(out, {"kind": kind, **facts})


def _run(reader: Reader, bag: BagId) -> Iterator[tuple[str, dict[str, Any]]]:
    facts = reader.bag(bag)._asdict()
    facts["summary"] = json.loads(facts["summary"] or "{}")
    del facts["spec"], facts["settings"]  # the service's own bytes
    yield "bag", facts
    for decision in reader.decisions(bag):
        yield "decision", decision._asdict()
    for machine in reader.machines(bag):
        yield "machine", _machine(machine)
    for row in reader.every_task(bag):
        yield "task", told(row)
    for row in reader.every_attempt(bag):
        yield "attempt", told(row)


def _machine(row: MachineRow) -> dict[str, Any]:
    return {
        **row._asdict(),
        "cost": str(as_decimal(row.cost)),
        "public_key": row.public_key.hex(),
    }


def _line(out: TextIO, facts: dict[str, Any]) -> None:
    out.write(json.dumps(facts, ensure_ascii=False) + "\n")
