"""All bags at a look: money against caps, the bags, and machines by who pays for them."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Final, Protocol

from bats.common.escapes import harmless
from bats.master.api.replies import BagLine, Bags, CapLine, OwnedMachines
from bats.master.cli.display.bag_status import failed_of, state_of, words_of
from bats.master.cli.display.formatting import amount, bar, count, duration, printable, table
from bats.master.cli.display.tables.pool_table import pools_in_short
from bats.master.cli.display.terminal import drawn_on

_WIDTH: Final = 12
_ENDED: Final = 5  # bags that have ended and stay on the screen


def overview(facts: Bags, *, quiet: bool = False) -> str:
    """The numbers of bags alone when it is to be quiet."""
    if quiet:
        return "\n".join(str(one["bag"]) for one in facts["bags"])
    caps, machines = facts.get("caps"), facts.get("machines")
    parts = [_bags(facts["bags"])]
    if caps:
        parts.insert(0, caps_in_words(caps))
    if machines:
        parts.append(_machines(machines))
    if pools := facts.get("pools"):
        parts.append(pools_in_short(pools))
    return "\n\n".join(parts)


def _bags(bags: Sequence[BagLine]) -> str:
    if not bags:
        return "No bag has been submitted yet. Try: bats submit SWEEP.toml"
    whose = any(one.get("user") for one in bags)
    left = any(one.get("eta_seconds") is not None for one in bags)
    rows = [
        (
            one["bag"],
            *([one.get("user", "")] if whose else []),
            one["name"],
            state_of(one),
            f"{one.get('done', 0):,}",
            f"{failed_of(one):,}",
            f"{one['tasks']:,}" + ("+" if one.get("open") else ""),
            _spent(one),
            *([_left(one)] if left else []),
            words_of(one),
        )
        for one in bags
    ]
    columns = ("name", "state", "done", "failed", "tasks", "spent", *(["left"] if left else []), "")
    return table(("bag", *(["user"] if whose else []), *columns), rows)


def _spent(bag: BagLine) -> str:
    """`$0.20 of $5.00` of one that runs within a limit."""
    currency = bag.get("currency", "$")
    spent = amount(bag.get("spent"), currency)
    limit = bag.get("limit")
    return spent if limit is None else f"{spent} of {amount(limit, currency)}"


def _left(bag: BagLine) -> str:
    eta = bag.get("eta_seconds")
    return "" if eta is None else duration(eta)


def caps_in_words(caps: Sequence[CapLine]) -> str:
    if not caps:
        return "No cap stands. `bats cap set 5 --per day` sets one."
    rows = [
        (
            one["user"] or "all",
            one["period"],
            amount(one["amount"], one["currency"]),
            bar(one["committed"] / one["amount"], _WIDTH),
            amount(one["committed"], one["currency"]),
            amount(one["left"], one["currency"]),
            _time(one["until"]),
        )
        for one in caps
    ]
    return table(("whose", "per", "cap", "", "spent, reserved", "left", "until"), rows)


def _machines(machines: Sequence[OwnedMachines]) -> str:
    rows = [
        (
            "all bags" if one["bag"] is None else f"bag {one['bag']}",
            one["offering"],
            f"{one['machines']:,}" + (f", {one['starting']:,} starting" if one["starting"] else ""),
            f"{one['running']:,} of {one['slots']:,}",
            amount(one["spent"], one["currency"]) if one["bag"] is not None else "",
            _shares(one),
        )
        for one in machines
    ]
    head = ("machines of", "offering", "at work", "tasks, places", "cost", "")
    return table(head, rows)


def _shares(one: OwnedMachines) -> str:
    """`bag 1 has 5 slots, bag 2 has 3 slots`"""
    return ", ".join(
        f"bag {part['bag']} has {count(part['slots'], 'slot')}" for part in one["shares"]
    )


class Overviews(Protocol):
    """Shows all bags again and again."""

    def show(self, facts: Bags) -> None: ...

    def close(self) -> None: ...


class _Lines:
    """A line for each bag whose state changed, and at each tenth of its tasks."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[str, int]] = {}

    def show(self, facts: Bags) -> None:
        for one in facts["bags"]:
            ended = one.get("done", 0) + one.get("failed", 0)
            now = state_of(one), 10 * ended // max(1, one["tasks"])
            before = self._told.get(one["bag"])
            self._told[one["bag"]] = now
            if before != now and (before or one["ended"] is None):
                words = f"bag {one['bag']} ({one['name']}): {now[0]}, {_progress(one)}"
                print(printable(words), flush=True)

    def close(self) -> None:
        pass


class _Silence:
    def show(self, facts: Bags) -> None:
        pass

    def close(self) -> None:
        pass


class _Screen:
    """One picture, drawn anew; of bags that have ended the last few."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(
            console=Console(file=drawn_on(), highlight=False), auto_refresh=False, transient=True
        )
        self._live.start()

    def show(self, facts: Bags) -> None:
        from rich.text import Text

        ended = [one for one in facts["bags"] if one["ended"] is not None]
        left_out = {one["bag"] for one in ended[:-_ENDED]}
        bags = [one for one in facts["bags"] if one["bag"] not in left_out]
        shown: Bags = {**facts, "bags": bags}
        lines = Text(harmless(overview(shown)), no_wrap=True, overflow="ellipsis")
        self._live.update(lines, refresh=True)

    def close(self) -> None:
        self._live.stop()


def overviews(*, quiet: bool) -> Overviews:
    """The way to show them here: not at all, on a screen, or in lines."""
    if quiet:
        return _Silence()
    drawable = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return _Screen() if drawable else _Lines()


def _progress(bag: BagLine) -> str:
    failed = f", {bag['failed']:,} failed" if bag.get("failed") else ""
    return f"{bag.get('done', 0):,} of {count(bag['tasks'], 'task')} done{failed}"


def _time(at: float | None) -> str:
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
