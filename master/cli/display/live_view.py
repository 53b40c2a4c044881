"""The live view of one bag on a terminal: progress, money, machines, failures, decisions."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bats.master.api.replies import Decision, MachineStatus, Schedules, Status
from bats.master.cli.display.bag_status import (
    deadline_words,
    eta_words,
    failed_of,
    failure_lines,
    money_line,
    state_of,
    step_lines,
    told_line,
    waiting_words,
)
from bats.master.cli.display.formatting import amount, count, duration, runtime
from bats.master.cli.display.offers import offers

_PHASES: Final = "▁▂▃▄▅▆▇█"  # eighths of an ATU that are told apart
_SINGLY: Final = 24  # machines of a cluster that are shown one by one
_WIDEST: Final = 110  # what the eye takes in; and it stays whole in a terminal made narrower
_MOST_STEPS: Final = 12  # that are shown
_TALLEST: Final = 9  # lines of the picture of schedules


def picture(
    status: Status, decisions: Sequence[Decision], question: str = "", *, width: int
) -> RenderableType:
    """`question` is asked of a bag that is paused."""
    width = min(width, _WIDEST)
    if "spent" not in status:
        said = Text(status["words"] or "waits for its turn")
        return Panel(said, title=_title(status), title_align="left", width=width)
    parts: list[RenderableType] = [
        _progress(status),
        _tasks(status),
        *_steps(status),
        *(Text(line, style="red", no_wrap=True, overflow="ellipsis") for line in _failed(status)),
        Text(f"time   {_time(status)}"),
        Text(f"money  {money_line(status)}"),
        *_promises(status),
        Text(),
        _clusters(status),
    ]
    if status["phase"] == "choosing" and not status["paused"] and not question:
        words = "It is being found out what schedules come to; then one is chosen."
        parts += [Text(), Text(words, style="bold")]
    if paused := status["paused"]:
        parts += [Text(), Text(f"paused: {paused['reason']}", style="bold")]
        parts += [Text(paused["ways"]), Text(question, style="bold")]
    if decisions:
        parts.append(Text())
    for one in decisions:
        words = f"{_clock(status, one)}  {one['words']}"
        parts.append(Text(words, style="dim", no_wrap=True, overflow="ellipsis"))
    return Panel(Group(*parts), title=_title(status), title_align="left", width=width)


def choice(
    status: Status, offered: Schedules, question: str, *, width: int, height: int
) -> RenderableType:
    """The view while nobody has chosen: the schedules, a picture, the question."""
    plain = offers(offered, width=width)
    used = plain.count("\n") + 1 + 2 + 2 + 4  # the head, the question, the picture's own lines
    said = offers(offered, width=width, height=min(_TALLEST, height - used - 1))
    head = f"{status['done']:,} of {count(status['total'], 'task')} done · {_meanwhile(status)}"
    if status.get("open"):
        head += " · offers are for the tasks known so far"
    return Group(
        Text(_title(status), style="bold", no_wrap=True, overflow="ellipsis"),
        Text(head, style="dim", no_wrap=True, overflow="ellipsis"),
        Text(said, no_wrap=True, overflow="ellipsis"),
        Text(),
        Text(question, style="bold"),
    )


def _title(status: Status) -> str:
    return f"bag {status['bag']} · {status['name']} · {state_of(status)}"


def _meanwhile(status: Status) -> str:
    """The cost of the sample's machines while nobody has chosen."""
    spent = amount(status["spent"], status["currency"])
    ends = [one["paid_until"] for one in status["machines"] if one["paid_until"] is not None]
    if not ends:
        return f"{spent} spent, no machine is being paid for"
    left = duration(max(0.0, max(ends) - status["now"]))
    return f"{spent} spent · its machines are paid for {left} more"


def _progress(status: Status) -> RenderableType:
    total, ended = status["total"] or 1, status["done"] + status["failed"]
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(ProgressBar(total=total, completed=ended), Text(f"{ended / total:.0%}"))
    return line


def _tasks(status: Status) -> Text:
    said = Text(f"tasks  {status['done']:,} of {status['total']:,} done")
    said.append(" so far, more may come" if status.get("open") else "")
    if failed := failed_of(status):
        said.append(f", {failed:,} failed", style="red")
    said.append(waiting_words(status))
    if status["speed"]:
        said.append(f" · {status['speed']:.3g} a second")
    if copies := _copies(status):
        what = "cop" + ("y" if copies == 1 else "ies")
        said.append(f" · {copies} {what} of {'a late task' if copies == 1 else 'late tasks'}")
    return said


def _steps(status: Status) -> list[Text]:
    """A row for each step; of very many those at work."""
    lines = step_lines(status)
    if len(lines) > _MOST_STEPS:
        at_work = [
            line
            for line, one in zip(lines, status["steps"], strict=True)
            if one["running"] or one["waiting"] or one["failed"]
        ]
        lines = [f"{'steps':<9} {line[10:]}" if not k else f"{'':<9} {line[10:]}"
                 for k, line in enumerate(at_work[:_MOST_STEPS])]  # fmt: skip
    return [Text(f"{line[:5]}  {line[10:]}", no_wrap=True, overflow="ellipsis") for line in lines]


def _failed(status: Status) -> list[str]:
    return [f"       {line[10:]}" for line in failure_lines(status)]


def _copies(status: Status) -> int:
    """The number of replicas that run in the tail."""
    if status["phase"] != "executing":
        return 0
    attempts = sum(one["running"] + one["queued"] for one in status["machines"])
    running: int = status["running"]
    return max(0, int(attempts) - running)


def _time(status: Status) -> str:
    said = f"{duration(status['now'])} so far"
    if eta := eta_words(status):
        said += f" · {eta}"
    if deadline := deadline_words(status):
        said += f" · deadline {deadline}"
    return said


def _promises(status: Status) -> list[Text]:
    """The promise of the whole, what it comes to by now, and a bound that will hardly hold."""
    said = []
    for line in told_line(status):
        called, words = line[:9].strip(), line[10:]
        style = "yellow" if called == "at risk" else ""
        shown = f"{called:<7}{words}" if len(called) < 7 else f"{called} {words}"
        said.append(Text(shown, style=style, no_wrap=not style, overflow="ellipsis"))
    return said


def _clock(status: Status, decision: Decision) -> str:
    if status["began"] is None:
        return duration(decision["time"])
    return time.strftime("%H:%M:%S", time.localtime(status["began"] + decision["time"]))


def _clusters(status: Status) -> RenderableType:
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for head, side in (
        ("machines", "left"), ("there", "right"), ("planned", "right"), ("busy", "right"),
        ("a task takes", "right"), ("cost", "right"), ("ATUs paid for", "left"),
    ):  # fmt: skip
        grid.add_column(head, justify="right" if side == "right" else "left", no_wrap=True)
    currency = status["currency"]
    for one in status["clusters"]:
        mine = [m for m in status["machines"] if m["cluster"] == one["name"]]
        leaving = f" (-{one['leaving']})" if one["leaving"] else ""
        grid.add_row(
            Text(one["name"]),
            f"{one['machines']}{leaving}",
            str(one["planned"]),
            str(sum(m["running"] for m in mine)),
            runtime(one["mean_seconds"] or None),
            amount(sum(m["cost"] for m in mine), currency),
            Text(one["set_aside"] or _phases(mine, status["now"], one["atu_seconds"])),
        )
    if rest := max(0, status["spent"] - sum(m["cost"] for m in status["machines"])):
        # so that the column adds up to what is spent
        grid.add_row("gone", "", "", "", "", amount(rest, currency), "")
    return grid


def _phases(machines: Sequence[MachineStatus], now: float, atu_seconds: float) -> str:
    """The progress of each machine through the ATU that is paid for; of many machines, counted."""
    each = [_phase(one, now, atu_seconds) for one in machines]
    if len(each) <= _SINGLY:
        return "".join(each)
    return " ".join(f"{number}{sign}" for sign, number in sorted(Counter(each).items()))


def _phase(machine: MachineStatus, now: float, atu_seconds: float) -> str:
    if machine["paid_until"] is None:
        return "∞" if machine["joined_at"] is not None else "…"
    share = 1 - (machine["paid_until"] - now) / atu_seconds
    return _PHASES[max(0, min(len(_PHASES) - 1, int(share * len(_PHASES))))]
