"""A simulated study as one HTML page that needs nothing else."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from bats.master.report.charts import scatter
from bats.master.report.document import document

_WIDTH: Final = 948


def html(facts: Mapping[str, Any], head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The words of `bats simulate` as a page, with a drawing of price and time."""
    title = f"What would it cost? {facts['tasks']:,} tasks simulated"
    cells = "".join(f"<tr>{_row('td', row)}</tr>" for row in rows)
    left = "".join(
        f"<p>{escape(one['name'])}: {escape(one['words'])}.</p>"
        for one in facts["cases"]
        if one["words"]
    )
    return document(
        title,
        f"<h1>{escape(title)}</h1>"
        f"<p>Runtimes: {escape(facts['runtimes'])}. {facts['runs']:,} runs of each case; tail "
        f"strategy {escape(facts['tail'])}.</p>{_drawing(facts)}"
        f'<div class="scroll"><table><thead><tr>{_row("th", head)}</tr></thead>'
        f"<tbody>{cells}</tbody></table></div>"
        "<p class=soft>Dots are medians; lines lead to what 95 % of the runs stay below. Done: "
        "runs that finished within the budget. Sample: its share of the time, of the price.</p>"
        f"{left}",
    )


def _drawing(facts: Mapping[str, Any]) -> str:
    shown = [
        {
            "name": one["name"],
            "makespan_seconds": one["seconds"]["median"],
            "cost": one["median_cost"],
            "bounds": {"makespan_seconds": one["seconds"]["high"], "cost": one["high_cost"]},
        }
        for one in facts["cases"]
        if one["seconds"]
    ]
    return scatter(shown, "", _WIDTH, facts["currency"]) if shown else ""


def _row(name: str, cells: Sequence[str]) -> str:
    return "".join(
        f"<{name}{' class=number' if k > 1 else ''}>{escape(cell)}</{name}>"
        for k, cell in enumerate(cells)
    )
