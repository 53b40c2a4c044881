"""Writes runs out as JSONL and CSV, row by row, whatever their size."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
) -> None:
    """A heading, then a line a task; a parameter is a column, `param.NAME` if NAME is taken."""
    columns = [field for field in TOLD if field != "outputs"]
    taken = {*columns, *more}
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, *more, *(f"param.{n}" if n in taken else n for n in names)])
    for row in rows:
        facts = told(row)
        added = [column(row) for column in more.values()]
        writer.writerow([*(facts[column] for column in columns), *added, *values(row.task)])


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
