"""Values that stand in other files: rows of a CSV, lines of a text."""

import csv
import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bats.common.errors import UsageError, quoted
from bats.master.sweep.columns import MOST_ROWS, Listed
from bats.master.sweep.space import Axis
from bats.master.sweep.sweep_model import parameter_name
from bats.master.userfile import read_text

_ROWS_AT_A_TIME: Final = 4096  # a million small lists at once would keep the collector busy


def lines_of(path: Path) -> Listed:
    """The lines of a file, each a value; empty ones are passed over."""
    text = StringIO(read_text(path, "the file of values"), newline=None)
    lines = [line.rstrip("\n") for line in text if line.strip()]
    if not lines:
        raise UsageError(f"the file of values {path} has no line that is not empty.")
    return _listed(lines, str(path))


def line_axis(lines: Iterable[str], source: str) -> Axis:
    """The lines themselves as the parameter `line`; empty ones and # comments are passed over."""
    kept = []
    for line in lines:
        text = line.rstrip("\r\n")
        if text.strip() and not text.lstrip().startswith("#"):
            kept.append(text)
            if len(kept) > MOST_ROWS:
                raise UsageError(f"{source}: more than {MOST_ROWS:,} lines, the most possible.")
    if not kept:
        raise UsageError(f"{source}: there is no line to run.")
    return Axis(("line",), (_listed(kept, source),))


def csv_axis(path: Path) -> Axis:
    """A parameter for each column, named by the header; a task for each row below it."""
    text = read_text(path, "the CSV file")
    reader = _reader(text, path)
    try:
        names = _names([name.strip() for name in next(reader, [])], path)
        columns: list[list[str]] = [[] for _ in names]
        with _collector_paused():
            while some := list(islice(reader, _ROWS_AT_A_TIME)):
                rows = [row for row in some if row]
                if {*map(len, rows)} - {len(names)}:
                    raise _odd_row(text, names, path)
                for column, cells in zip(columns, zip(*rows, strict=True), strict=bool(rows)):
                    column.extend(map(str.strip, cells))
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: this is not CSV: {error}.") from None
    if not columns[0]:
        raise UsageError(f"{path} has a header but no rows; add a line of values for each task.")
    if not all(map(all, columns)):
        raise _odd_row(text, names, path)
    return Axis(names, tuple(_listed(column, str(path)) for column in columns))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A million rows make no cycles; to look for some takes as long as to read them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _reader(text: str, path: Path) -> Any:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    return csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)


def _odd_row(text: str, names: tuple[str, ...], path: Path) -> UsageError:
    """The mistake in the first row that has not a value for each name."""
    reader = _reader(text, path)
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        if row and len(row) != len(names):
            return UsageError(
                f"{where}: {len(row)} cells where the header has {len(names)} "
                f"({', '.join(names)}); each row needs as many."
            )
        for name, cell in zip(names, row, strict=False):
            if not cell.strip():
                return UsageError(
                    f"{where}: the cell of {name} is empty; every cell needs a value, "
                    "for example none."
                )
    raise AssertionError("all rows are as they should be")


def _names(header: list[str], path: Path) -> tuple[str, ...]:
    if not header:
        raise UsageError(f"{path} is empty; its first line should name the parameters.")
    for at, name in enumerate(header, 1):
        try:
            parameter_name(name)
        except ValueError as error:
            raise UsageError(
                f"{path}, line 1, column {at}: {error}. The first line should name the parameters."
            ) from None
        if name in header[: at - 1]:
            raise UsageError(f"{path}, line 1: two columns are called {quoted(name)}; rename one.")
    return tuple(header)


def _listed(values: list[str], source: str) -> Listed:
    try:
        return Listed(values)
    except ValueError as error:
        raise UsageError(f"{source}: {error}.") from None
