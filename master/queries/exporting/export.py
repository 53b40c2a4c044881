"""Runs written out as JSONL and CSV, row by row, whatever their size."""

import asyncio
import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TextIO, cast

from bats.common.errors import UsageError, quoted
from bats.common.messages import BagId, MachineId, Result, TaskId
from bats.common.money import Money, as_decimal
from bats.master.api import replies
from bats.master.api.reading import takes
from bats.master.api.requests import Export
from bats.master.bag import read_bag
from bats.master.queries.exporting.spreadsheet import as_it_is, cell
from bats.master.queries.output import whole_output
from bats.master.queries.question import Question
from bats.master.queries.tasks import cost_rates, cost_share, living_costs, output_files
from bats.master.store.reader import Reader
from bats.master.store.result_rows import TOLD, told
from bats.master.store.rows import MachineRow

_EXPORT_BYTES: Final = 256 << 10

Values = Callable[[TaskId], Sequence[str]]
"""A task's parameters by its sweep; the store does not know them."""


@takes(Export)
async def export(question: Question, want: Export) -> replies.OfBag:
    """The bag as text, JSONL or CSV, in chunks of lines."""
    number = await question.bag(want.bag)
    each = as_it_is if want.raw else cell
    living = living_costs(question.at_work(number))
    parts: asyncio.Queue[str | None] = asyncio.Queue(4)
    loop = asyncio.get_running_loop()

    def put(text: str | None) -> None:
        asyncio.run_coroutine_threadsafe(parts.put(text), loop).result()

    def write(reader: Reader) -> None:
        try:
            _write(reader, number, want.format, put, living, each, whole=want.output)
        finally:
            put(None)

    writing = asyncio.ensure_future(question.read(write))
    while (text := await parts.get()) is not None:
        piece: replies.ExportPart = {"text": text}
        await question.part(piece)
    await writing
    return {"bag": number}


def _write(
    reader: Reader,
    number: BagId,
    form: str,
    put: Callable[[str], None],
    living: Mapping[MachineId, Money],
    each: Callable[[object], object],
    *,
    whole: bool,
) -> None:
    """`form`: `jsonl` or `csv` for the tasks, `run` for all that is known.

    `whole`: with what each task wrote on stdout, in a column of the CSV.
    """
    bag = read_bag(reader, number)
    out = _Pieces(put)
    sweep = bag.sweep
    if form == "jsonl":
        tasks_as_jsonl(reader.every_task(number), cast("TextIO", out), sweep.names, sweep.values)
    elif form == "csv":
        rates = cost_rates(reader, number, living)
        more: dict[str, Callable[[Result], object]] = {
            "cost_share": lambda row: f"{as_decimal(cost_share(row, rates)).normalize():f}",
            "outputs": lambda row: " ".join(output_files(row)),
        }
        if whole:
            more["output"] = lambda row: whole_output(bag, row)
        rows, told_values = reader.every_task(number), list(reader.value_types(number))
        tasks_as_csv(rows, cast("TextIO", out), sweep.names, sweep.values, more, told_values, each)
    elif form == "run":
        run_as_jsonl(reader, number, cast("TextIO", out))
    else:
        raise UsageError(f"`format` should be jsonl, csv or run, not {quoted(form)}.")
    out.flush()


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
    each: Callable[[object], object] = cell,
) -> None:
    """A heading, then a line a task; parameters are columns, and so are values of these names.

    Where the name is taken, they are called `param.NAME` and `value.NAME`.
    """
    columns = [field for field in TOLD if field != "outputs"]
    heading = [*columns, *more]
    heading += _headings(names, heading, "param")
    heading += _headings(value_names, heading, "value")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(each, heading))
    for row in rows:
        facts = told(row)
        added = [column(row) for column in more.values()]
        said = [facts["values"].get(name, "") for name in value_names]
        written = (*(facts[column] for column in columns), *added, *values(row.task), *said)
        writer.writerow(map(each, written))


def _headings(names: Iterable[str], taken: Collection[str], kind: str) -> list[str]:
    """The headings of columns of these names."""
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


class _Pieces:
    """Takes text like a file, and passes it on in pieces."""

    def __init__(self, put: Callable[[str], None]) -> None:
        self._put = put
        self._held: list[str] = []
        self._size = 0

    def write(self, text: str) -> int:
        self._held.append(text)
        self._size += len(text)
        if self._size >= _EXPORT_BYTES:
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self._held:
            self._put("".join(self._held))
        self._held, self._size = [], 0
