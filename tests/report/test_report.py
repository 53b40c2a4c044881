"""A report tells a real run: its outcome, its money, its failures; it needs no other file."""

import csv
import re
import sys
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.service import over, sweep

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.common.money import as_decimal
from bats.master.cli.main import bats
from bats.master.client import Client
from bats.master.report import tables
from bats.master.report.account import account
from bats.master.report.page import write
from bats.master.service.master import Master

COMMAND = 'echo "<script>tried "{x}"</script>" >&2; test {x} -lt 37'


class Links(HTMLParser):
    """Collects what a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {k}={v}" for k, v in attrs if k in ("src", "href", "srcset")]
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
async def ran(client: Client) -> int:
    """A bag of 40 tasks that cost money; tasks 37, 38, 39 failed, each twice."""
    offering: dict[str, Any] = {
        "name": "slow & cheap",
        "price": 10**7,
        "atu_seconds": 10.0,
        "max_machines": 2,
        "slots": 2,
        "boundary_seconds": 0.5,
        "backend": "local",
    }
    asked = await client.ask(
        "submit", sweep=sweep(40, COMMAND, retries=1, slots=2), offerings=[offering], budget=10**10
    )
    await over(client, asked["bag"], 60)
    return int(asked["bag"])


async def test_the_report_is_one_file_that_tells_what_became_of_the_bag(
    ran: int, master: Master, client: Client, tmp_path: Path
) -> None:
    status = await client.ask("status", bag=ran)
    path = tmp_path / "report.html"
    with master.store.reader() as reader:
        told = write(reader, BagId(ran), path)
    page = path.read_text()
    links = Links()
    links.feed(page)
    assert links.found == []
    assert links.open == ["html"][:0]
    assert "default-src 'none'" in page
    assert "37 of 40 tasks done, 3 failed" in page
    assert "<script>" not in page
    assert "slow &amp; cheap" in page
    assert "Where each dollar went" in page
    assert "Each takes 2 CPUs." in page
    [failure] = told.failures
    assert (failure.attempts, failure.for_good) == (6, 3)
    assert sorted(failure.tasks) == [37, 38, 39]
    assert "6 attempts: exit code 1" in page
    assert status["spent"] > 0
    assert sum(getattr(told.money, part) for part in told.money.__slots__) == status["spent"]
    assert told.spending[-1][1] == status["spent"]
    assert sum(told.chronicle.done_by_bin.values()) == 37
    assert sum(time.done for time in told.chronicle.machines.values()) == 37


async def test_tables_hold_every_task_and_every_machine(
    ran: int, master: Master, client: Client, tmp_path: Path
) -> None:
    machines = (await client.ask("machines", bag=ran))["machines"]
    with master.store.reader() as reader:
        told = account(reader, BagId(ran))
        tables.tasks_csv(reader, told, tmp_path / "tasks.csv")
    tables.machines_csv(told, tmp_path / "machines.csv")
    with (tmp_path / "tasks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["x"] for row in rows] == [str(x) for x in range(40)]
    with (tmp_path / "machines.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(machines)
    for row in rows:
        parts = [Decimal(value) for key, value in row.items() if key.startswith("cost_")]
        assert sum(parts) == Decimal(row["cost"])
    whole = sum((Decimal(row["cost"]) for row in rows), Decimal(0))
    assert whole == as_decimal(sum(one["cost"] for one in machines))


async def test_who_wants_parquet_without_pyarrow_is_told(
    ran: int, master: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    with master.store.reader() as reader:
        told = account(reader, BagId(ran))
        with pytest.raises(UsageError, match="pip install pyarrow"):
            tables.tasks_parquet(reader, told, tmp_path / "tasks.parquet")


async def test_parquet_holds_what_csv_holds(ran: int, master: Master, tmp_path: Path) -> None:
    read_table = pytest.importorskip("pyarrow.parquet").read_table

    with master.store.reader() as reader:
        told = account(reader, BagId(ran))
        tables.tasks_csv(reader, told, tmp_path / "tasks.csv")
        tables.tasks_parquet(reader, told, tmp_path / "tasks.parquet")
    tables.machines_parquet(told, tmp_path / "machines.parquet")
    with (tmp_path / "tasks.csv").open() as file:
        rows = list(csv.DictReader(file))
    tasks = read_table(tmp_path / "tasks.parquet").to_pylist()
    assert [task["param.x"] for task in tasks] == [int(row["x"]) for row in rows]
    assert [task["excerpt"] for task in tasks] == [row["excerpt"] for row in rows]
    assert [task["outcome"] for task in tasks] == [row["outcome"] for row in rows]
    assert [str(task["exit_code"]) for task in tasks] == [row["exit_code"] for row in rows]
    assert all(isinstance(task["wall_seconds"], float) for task in tasks)
    machines = read_table(tmp_path / "machines.parquet").to_pylist()
    assert machines == list(tables.machine_rows(told))


async def test_the_command_writes_a_report_beside_a_living_master(
    ran: int, master: Master, tmp_path: Path
) -> None:
    html, folder = tmp_path / "r.html", tmp_path / "tables"
    words = ["report", str(ran), "--state", str(master.home.folder), "--html", str(html)]
    done = CliRunner().invoke(bats, [*words, "--csv", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.output.split() == [
        str(html), str(folder / "tasks.csv"), str(folder / "machines.csv"),
    ]  # fmt: skip
    assert re.search(r"<svg[^>]*Timeline of \d machines", html.read_text())
