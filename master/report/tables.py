"""Tasks and machines as tables for other programs: CSV, and Parquet where pyarrow is installed."""

import csv
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.common.money import as_decimal
from bats.master.report.account import Account
from bats.master.report.renting import CALLED, divided, seconds_of
from bats.master.store.export import tasks_as_csv
from bats.master.store.reader import Reader

_PIECE: Final = 50_000  # rows of a table in memory at a time


def tasks_csv(reader: Reader, told: Account, path: Path) -> None:
    sweep = told.bag.sweep
    with path.open("w", newline="", encoding="utf-8") as out:
        tasks_as_csv(reader.every_task(told.bag.id), out, sweep.names, sweep.values)


def machines_csv(told: Account, path: Path) -> None:
    rows = list(machine_rows(told))
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]) if rows else ["machine"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


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


def tasks_parquet(reader: Reader, bag: BagId, told: Account, path: Path) -> None:
    """Raises UsageError where pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: `pip install pyarrow`, or ask for CSV.")
    import pyarrow as pa
    import pyarrow.parquet as pq

    sweep, writer = told.bag.sweep, None
    rows = reader.every_task(bag)
    try:
        while piece := list(islice(rows, _PIECE)):
            facts = [
                {
                    **{k: v for k, v in row._asdict().items() if k != "outputs"},
                    "outcome": row.outcome.name.lower(),
                    **{f"param.{k}": v for k, v in sweep.parameters(row.task).items()},
                }
                for row in piece
            ]
            table = pa.Table.from_pylist(facts)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
