"""Runs leave the store as JSONL and CSV that other programs read back."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bats.common.messages import BagId, MachineId, Outcome, Result
from bats.common.money import money
from bats.master.queries.exporting.export import run_as_jsonl, tasks_as_csv, tasks_as_jsonl
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow, DecisionRow, MachineRow
from bats.master.store.store import Store

BAG = BagId(1)
NASTY = 'a "quoted", line\nand\r\nmore; =1+1 é'


@pytest.fixture
async def reader(
    folder: Path, finished: Callable[..., Result], bag_row: Callable[..., BagRow]
) -> Reader:
    store = Store(folder, "1.0")
    store.bag(bag_row(1, tasks=2500)._replace(summary='{"cost": "0.08"}'))
    store.machine(MachineRow(MachineId(1), BAG, "small", "local", cost=money("0.08")))
    store.decision(DecisionRow(BAG, 1.0, "bought one"))
    store.attempts([finished(1, 7, 1, Outcome.FAILED)])
    store.results([finished(1, 7, 2, Outcome.FAILED, excerpt=NASTY)])
    store.results([finished(1, task) for task in range(2500) if task != 7])
    await store.close()
    return Reader(folder)


async def test_jsonl_has_a_line_per_task_with_its_parameters(reader: Reader):
    out = io.StringIO()
    tasks_as_jsonl(reader.every_task(BAG), out, ["x"], lambda task: [f"value {task}"])
    lines = [json.loads(line) for line in out.getvalue().split("\n")[:-1]]
    assert [line["task"] for line in lines] == list(range(2500))
    assert lines[7]["parameters"] == {"x": "value 7"}
    assert (lines[7]["outcome"], lines[7]["excerpt"], lines[7]["attempt"]) == ("failed", NASTY, 2)


async def test_csv_reads_back_whatever_the_tasks_said(reader: Reader):
    out = io.StringIO(newline="")
    tasks_as_csv(reader.every_task(BAG), out, ["task", "x"], lambda task: [f"t{task}", NASTY])
    rows = list(csv.DictReader(io.StringIO(out.getvalue(), newline="")))
    assert len(rows) == 2500
    assert (rows[7]["task"], rows[7]["param.task"], rows[7]["x"]) == ("7", "t7", NASTY)
    assert rows[7]["excerpt"] == NASTY
    assert float(rows[8]["wall_seconds"]) == 1.5


async def test_a_whole_run_fits_one_file(reader: Reader):
    out = io.StringIO()
    run_as_jsonl(reader, BAG, out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    kinds = [line["kind"] for line in lines]
    assert kinds == ["bag", "decision", "machine", *["task"] * 2500, "attempt"]
    assert lines[0]["summary"] == {"cost": "0.08"}
    assert lines[2]["cost"] == "0.08"
    reader.close()
