"""Tasks and machines as tables for other programs: CSV, and Parquet where pyarrow is installed."""

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final, get_type_hints

from bats.common.errors import UsageError
from bats.common.messages import Outcome, Result
from bats.common.money import as_decimal
from bats.common.outcomes.values import as_typed
from bats.master.queries.exporting.export import tasks_as_csv
from bats.master.queries.exporting.spreadsheet import cell
from bats.master.report.account import Account
from bats.master.report.renting import CALLED, divided, seconds_of
from bats.master.store.reader import Reader
from bats.master.store.result_rows import TOLD, last_words, values_told

_PIECE: Final = 50_000  # rows of a table in memory at a time


def tasks_csv(reader: Reader, told: Account, path: Path) -> None:
    sweep = told.bag.sweep
    with path.open("w", newline="", encoding="utf-8") as out:
        rows, values = reader.every_task(told.bag.id), list(reader.value_types(told.bag.id))
        tasks_as_csv(rows, out, sweep.names, sweep.values, value_names=values)


def machines_csv(told: Account, path: Path) -> None:
    rows = list(machine_rows(told))
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]) if rows else ["machine"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)


def machine_rows(told: Account) -> Iterator[dict[str, Any]]:
    """A machine's life, bill and what the bill went into; times are seconds of the run."""
    for one in told.machines:
        time = told.chronicle.machines.get(one.id)
        shares = divided(one.cost, seconds_of(one, time))
        yield {
            "machine": one.id,
            "cluster": str(one.offering.name),
            "slots": one.slots,
            "requested": one.requested,
            "charged_since": one.since,
            "joined": one.joined,
            "gone": one.until if one.gone else None,
            "reason": one.reason,
            "tasks_done": time.done if time else 0,
            "cost": str(as_decimal(one.cost)),
            **{f"cost_{part}": str(as_decimal(getattr(shares, part))) for part in CALLED},
        }


def tasks_parquet(reader: Reader, told: Account, path: Path) -> None:
    """Raises UsageError where pyarrow is not installed."""
    sweep = told.bag.sweep
    hints = get_type_hints(Result)
    kinds = {name: hints[name] for name in TOLD if name != "outputs"}
    parameters = {f"param.{name}": kind for name, kind in sweep.types().items()}
    values = {f"value.{name}": kind for name, kind in reader.value_types(told.bag.id).items()}
    with _parquet(path, kinds | parameters | values) as write:
        rows = reader.every_task(told.bag.id)
        while piece := list(islice(rows, _PIECE)):
            write(
                [
                    {
                        **{name: getattr(row, name) for name in kinds},
                        "outcome": row.outcome.name.lower(),
                        "excerpt": last_words(row),
                        **_typed("param", sweep.parameters(row.task), parameters),
                        **_typed("value", values_told(row), values),
                    }
                    for row in piece
                ]
            )


def _typed(kind: str, found: Mapping[str, Any], columns: Mapping[str, type]) -> dict[str, Any]:
    named = {f"{kind}.{name}": value for name, value in found.items()}
    return {name: as_typed(value, columns[name]) for name, value in named.items()}


def machines_parquet(told: Account, path: Path) -> None:
    """Likewise."""
    numbers = {"machine": int, "slots": int, "tasks_done": int}
    times = dict.fromkeys(("requested", "charged_since", "joined", "gone"), float)
    rows = list(machine_rows(told))
    names = list(rows[0]) if rows else ["machine"]
    kinds = {name: (numbers | times).get(name, str) for name in names}
    with _parquet(path, kinds) as write:
        write(rows)


@contextmanager
def _parquet(
    path: Path, kinds: Mapping[str, type]
) -> Iterator[Callable[[list[dict[str, Any]]], None]]:
    """A file with these columns; gives what takes rows for it. Amounts of money are exact text."""
    if find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: `pip install pyarrow`, or ask for CSV.")
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {float: pa.float64(), str: pa.string(), bool: pa.bool_(), Outcome: pa.string()}
    schema = pa.schema([(name, types.get(kind, pa.int64())) for name, kind in kinds.items()])
    with pq.ParquetWriter(path, schema) as writer:
        yield lambda rows: writer.write_table(pa.Table.from_pylist(rows, schema=schema))
