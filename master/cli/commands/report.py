"""`bats report`: what became of a bag and its money, as one HTML file and as tables."""

from pathlib import Path

import click

from bats.master.cli.base import Common, command, common
from bats.master.cli.questions import bag_argument


@command(
    examples="""
bats report                                of the newest bag, to report-NUMBER.html
bats report 3 --html sweep.html
bats report 3 --csv tables/                also tasks.csv and machines.csv
bats report 3 --parquet tables/            the same as .parquet; needs pyarrow
"""
)
@bag_argument
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Where to write it.")
@click.option("--csv", "tables", type=click.Path(path_type=Path, file_okay=False),
              help="A folder for tasks.csv and machines.csv.")  # fmt: skip
@click.option("--parquet", type=click.Path(path_type=Path, file_okay=False),
              help="A folder for tasks.parquet and machines.parquet; needs pyarrow.")  # fmt: skip
@common
def report(
    common: Common, bag: int | str, html: Path | None, tables: Path | None, parquet: Path | None
) -> None:
    """Writes a report: promise and outcome, where the money went, decisions, failures, machines.

    It reads the master's state folder, so it works where the master runs or ran, also after it
    has ended. The HTML file needs nothing else: send it to whoever paid.
    """
    from bats.master.queries.question import find_bag
    from bats.master.report import tables as as_tables
    from bats.master.report.page import write
    from bats.master.store.reader import Reader

    with Reader(common.state) as reader:
        number = find_bag(reader, bag)
        path = html or Path(f"report-{number}.html")
        told = write(reader, number, path)
        written = [path]
        if tables is not None:
            tables.mkdir(parents=True, exist_ok=True)
            as_tables.tasks_csv(reader, told, tables / "tasks.csv")
            as_tables.machines_csv(told, tables / "machines.csv")
            written += [tables / "tasks.csv", tables / "machines.csv"]
        if parquet is not None:
            parquet.mkdir(parents=True, exist_ok=True)
            as_tables.tasks_parquet(reader, told, parquet / "tasks.parquet")
            as_tables.machines_parquet(told, parquet / "machines.parquet")
            written += [parquet / "tasks.parquet", parquet / "machines.parquet"]
    names = [str(one) for one in written]
    common.facts({"bag": number, "written": names}, lambda: "\n".join(names))
