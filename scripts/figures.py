"""Figures of measuring scripts: the published beside ours, bars that hold or fall short.

A table for people; with `--json` one object, last on standard output:
{"name":…, "figures":[{"what":…, "published":…, "ours":…, "unit":…}],
 "bars":[{"bar":…, "limit":…, "value":…, "ok":…}]}
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Value = float | int | str | None


@dataclass(slots=True)
class Report:
    name: str
    figures: list[dict[str, Any]] = field(default_factory=list)
    bars: list[dict[str, Any]] = field(default_factory=list)

    def figure(self, what: str, published: Value, ours: Value, unit: str = "") -> None:
        """`published` is None where nothing is."""
        self.figures.append({"what": what, "published": published, "ours": ours, "unit": unit})

    def bar(self, text: str, limit: Value, value: Value, ok: bool) -> None:
        self.bars.append({"bar": text, "limit": limit, "value": value, "ok": bool(ok)})

    @property
    def ok(self) -> bool:
        return all(bar["ok"] for bar in self.bars)

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "figures": self.figures, "bars": self.bars}

    def finish(self, json_wanted: bool) -> int:
        """Print everything; the exit code: 1 when a bar falls short."""
        if json_wanted:
            print(json.dumps(self.as_dict(), ensure_ascii=False, default=float))
        else:
            self.table()
        return 0 if self.ok else 1

    def table(self) -> None:
        print(f"\n{self.name}\n{'=' * len(self.name)}")
        if self.figures:
            rows = [("", "published", "ours", "")]
            rows += [
                (f["what"], show(f["published"]), show(f["ours"]), f["unit"]) for f in self.figures
            ]
            _print_columns(rows)
        for bar in self.bars:
            mark = "ok   " if bar["ok"] else "SHORT"
            print(f"{mark} {bar['bar']}: {show(bar['value'])} (bar: {show(bar['limit'])})")
        sys.stdout.flush()


def together(reports: Sequence[Report]) -> Report:
    """One of all their figures and bars, as `--json` prints them."""
    return Report(
        " ".join(report.name for report in reports),
        [figure for report in reports for figure in report.figures],
        [bar for report in reports for bar in report.bars],
    )


def end(reports: Sequence[Report], *, json_wanted: bool) -> int:
    """After their tables, or instead of them; the exit code: 1 when a bar falls short."""
    whole = together(reports)
    return whole.finish(json_wanted=True) if json_wanted else int(not whole.ok)


def show(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_columns(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *others = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(
            "  ".join(
                [
                    first,
                    *(cell.strip().rjust(w) for cell, w in zip(others, widths[1:], strict=True)),
                ]
            ).rstrip()
        )
