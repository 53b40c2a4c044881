"""Caps over several bags as a table: what stands, and what is left until when."""

import time
from collections.abc import Sequence
from typing import Final

from bats.master.api.replies import CapLine
from bats.master.cli.display.formatting import amount, bar, table

_WIDTH: Final = 12


def in_words(caps: Sequence[CapLine]) -> str:
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


def _time(at: float | None) -> str:
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
