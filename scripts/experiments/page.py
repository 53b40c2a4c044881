"""One HTML page with everything the experiments told: it needs no other file, network or script."""

import time
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from figures import show

from .told import Part, Picture, Table, Told

_TIGHT: Final = 28  # shorter cells are not broken into lines
_STYLE: Final = """
body { max-width: 1200px; } svg { margin: .6rem 0; }
table { font-size: .82rem; } th, td { padding: .25rem .5rem; }
.tight { white-space: nowrap; }
td.short { color: var(--bad); font-weight: 600; }
svg .series0 { stroke: var(--soft); stroke-dasharray: 4 3; } svg .series1 { stroke: var(--task); }
svg .series2 { stroke: var(--failed); } svg .series3 { stroke: var(--running); }
svg .series4 { stroke: var(--copy); } svg .series5 { stroke: var(--sample); }
svg [class^=series] { fill: none; stroke-width: 2; }
svg .fill0 { fill: var(--starting); } svg .fill1 { fill: var(--soft); }
svg .fill2 { fill: var(--task); }
"""


def html(told: Sequence[Told], words: str) -> str:
    style = "".join(
        files("bats.master.report").joinpath(name).read_text()
        for name in ("charts.css", "report.css")
    )
    links = " · ".join(f'<a href="#{one.name}">{escape(one.title)}</a>' for one in told)
    when = time.strftime("%d %B %Y %H:%M")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>BaTS, live</title><style>{style}{_STYLE}</style></head><body><main>"
        f"<h1>BaTS, live</h1><p>{escape(words)}</p><p class=soft>{when}. {links}</p>"
        f"{_bars(told)}{''.join(map(_section, told))}</main></body></html>\n"
    )


def _bars(told: Iterable[Told]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.title)}</td><td>{escape(str(bar['bar']))}</td>"
        f"<td class=number>{escape(show(bar['limit']))}</td>"
        f"<td class=number>{escape(show(bar['value']))}</td>"
        f"<td class={'good>holds' if bar['ok'] else 'short>short'}</td></tr>"
        for one in told
        for bar in one.report.bars
    )
    heads = "<tr><th></th><th>Bar</th><th>Limit</th><th>Measured</th><th></th></tr>"
    return f'<div class="scroll"><table><thead>{heads}</thead><tbody>{rows}</tbody></table></div>'


def _section(told: Told) -> str:
    parts = "".join(map(_part, told.parts))
    return f'<section id="{told.name}"><h2>{escape(told.title)}</h2>{parts}</section>'


def _part(part: Part) -> str:
    if isinstance(part, str):
        return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in part.split("\n"))
    if isinstance(part, Picture):
        return f'<div class="scroll">{part.svg}</div>'
    return _table(part)


def _table(table: Table) -> str:
    right = table.numbers()

    def kind(k: int, cell: str) -> str:
        return " class=number" if k in right else " class=tight" if len(cell) < _TIGHT else ""

    def cells(name: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{name}{kind(k, cell)}>{escape(cell)}</{name}>" for k, cell in enumerate(row)
        )

    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    head = f"<tr>{cells('th', table.heads)}</tr>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in table.cells())
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return f'{title}<div class="scroll">{table}</div>'
