"""The live view of one bag on a terminal: progress, money, machines, failures, decisions."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bats.master.cli.status import money_line
from bats.master.cli.words import amount, duration

_PHASES = 8  # eighths of an ATU that are told apart


def picture(status: Mapping[str, Any], decisions: Iterable[Mapping[str, Any]]) -> RenderableType:
    title = f"bag {status['bag']} · {status['name']} · {status.get('phase', status['state'])}"
    if "spent" not in status:
        return Panel(Text(status["words"] or "waits for its turn"), title=title)
    parts: list[RenderableType] = [_progress(status), Text(f"money  {money_line(status)}")]
    parts.append(_clusters(status))
    if words := list(decisions):
        parts.append(Text("\n".join(f"{one['time']:8.1f} s  {one['words']}" for one in words),
                          style="dim"))  # fmt: skip
    return Panel(Group(*parts), title=title, title_align="left")


def _progress(status: Mapping[str, Any]) -> RenderableType:
    total, done, failed = status["total"], status["done"], status["failed"]
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    said = f"{done:,} of {total:,} done"
    if failed:
        said += f", {failed:,} failed"
    if status["speed"]:
        said += f" · {status['speed']:.3g} tasks/s"
    if status["eta_seconds"] is not None:
        said += f" · about {duration(status['eta_seconds'])} to go"
    elif not status["over"]:
        said += f" · {duration(status['now'])} so far"
    line.add_row(ProgressBar(total=total or 1, completed=done + failed), Text(said))
    return line


def _clusters(status: Mapping[str, Any]) -> RenderableType:
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for head, side in (
        ("machines", "left"), ("there", "right"), ("planned", "right"), ("busy", "right"),
        ("a task takes", "right"), ("cost", "right"), ("ATUs paid for, each machine", "left"),
    ):  # fmt: skip
        grid.add_column(head, justify="right" if side == "right" else "left", no_wrap=True)
    currency = status["currency"]
    for one in status["clusters"]:
        mine = [m for m in status["machines"] if m["cluster"] == one["name"]]
        leaving = f" (-{one['leaving']})" if one["leaving"] else ""
        grid.add_row(
            one["name"],
            f"{one['machines']}{leaving}",
            str(one["planned"]),
            str(sum(m["running"] for m in mine)),
            duration(one["mean_seconds"] or None),
            amount(sum(m["cost"] for m in mine), currency),
            one["set_aside"] or "".join(_phase(m, status["now"], one["atu_seconds"]) for m in mine),
        )
    return grid


def _phase(machine: Mapping[str, Any], now: float, atu_seconds: float) -> str:
    """How far the machine is through the ATU that is paid for, as a bar of one character."""
    if machine["paid_until"] is None:
        return "∞" if machine["joined_at"] is not None else "…"
    share = 1 - (machine["paid_until"] - now) / atu_seconds
    return "▁▂▃▄▅▆▇█"[max(0, min(_PHASES - 1, int(share * _PHASES)))]
