"""The words of an experiment: paragraphs, tables and drawings in order, bars that hold or not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from figures import Report

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    heads: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    title: str = ""

    def cells(self) -> list[tuple[str, ...]]:
        return [tuple(shown(cell) for cell in row) for row in self.rows]

    def numbers(self) -> set[int]:
        """Columns that stand to the right."""
        return {
            k
            for k in range(len(self.heads))
            if any(isinstance(row[k], int | float) for row in self.rows)
        }


@dataclass(frozen=True, slots=True)
class Picture:
    """SVG; only the page can show it."""

    svg: str


Part = str | Table | Picture


@dataclass(slots=True)
class Told:
    name: str
    title: str
    report: Report
    parts: list[Part] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, title: str) -> "Told":
        return cls(name, title, Report(name))

    def as_dict(self) -> dict[str, Any]:
        tables = [
            {"title": part.title, "heads": part.heads, "rows": part.rows}
            for part in self.parts
            if isinstance(part, Table)
        ]
        return {**self.report.as_dict(), "tables": tables}

    def print(self) -> None:
        print(f"\n{self.title}\n{'=' * len(self.title)}")
        for part in self.parts:
            if isinstance(part, str):
                print(f"\n{part}")
            elif isinstance(part, Table):
                print(f"\n{part.title}" if part.title else "")
                print("\n".join(_columns(part)))
        print()
        self.report.table()


def shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _columns(table: Table) -> Sequence[str]:
    rows = [table.heads, *table.cells()]
    right = table.numbers()
    widths = [max(len(row[k]) for row in rows) for k in range(len(table.heads))]
    return [
        "  ".join(
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
