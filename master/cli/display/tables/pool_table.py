"""Pools in words: machines, demand and supply, money, and why the last decision was so."""

import time
from collections.abc import Sequence

from bats.master.api import replies
from bats.master.cli.display.formatting import BARS, amount, bar, count, duration, table

_WIDTH = 12
_COLUMNS = 60


def pools_in_full(pools: Sequence[replies.PoolLine]) -> str:
    if not pools:
        return "This master keeps no pool. A [[pool]] in its clouds file makes one."
    return "\n\n".join(map(_in_full, pools))


def pools_in_short(pools: Sequence[replies.PoolLine]) -> str:
    rows = [
        (
            one["name"],
            f"{_there(one)} of {one['most']}" if one["most"] else f"{_there(one)}, ending",
            sum(kind["wanted"] for kind in one["kinds"]),
            f"{one['demand']:,}, {one['supply']:,}",
            amount(one["spent"], one["currency"]),
            one["why"],
        )
        for one in pools
    ]
    head = ("pool", "machines", "wanted", "to run, places", "cost", "")
    return table(head, rows)


def _there(one: replies.PoolLine) -> int:
    kinds = one["kinds"]
    return sum(k["starting"] + k["working"] + k["idle"] + k["leaving"] for k in kinds)


def _in_full(one: replies.PoolLine) -> str:
    limits = f"{one['least']} to {one['most']} machines" if one["most"] else "ends its machines"
    asked = f"{one['scaler']} is asked every {duration(one['interval_seconds'])}"
    parts = [f"Pool {one['name']}: {limits}; {asked}."]
    rows = [
        (
            kind["offering"],
            kind["wanted"],
            kind["working"],
            kind["idle"],
            kind["starting"],
            kind["leaving"],
            kind["trouble"],
        )
        for kind in one["kinds"]
    ]
    head = ("offering", "wanted", "working", "idle", "starting", "leaving", "")
    parts.append(table(head, rows))
    run = count(one["demand"], "task")
    parts.append(f"{run} to run, {count(one['supply'], 'place')} there.")
    parts += _drawn(one["moments"])
    currency = one["currency"]
    spent, reserved = amount(one["spent"], currency), amount(one["reserved"], currency)
    parts.append(f"Cost so far {spent}; {reserved} more are reserved.")
    parts += [_limit(limit, currency) for limit in one["limits"]]
    if one["decided_at"] is not None:
        at = time.strftime("%H:%M:%S", time.localtime(one["decided_at"]))
        parts.append(f"Last looked at {at}: {one['why']}.")
    return "\n".join(parts)


def _limit(limit: replies.PoolLimit, currency: str) -> str:
    drawn = bar(min(1.0, limit["committed"] / limit["amount"]), _WIDTH)
    of = f"{amount(limit['committed'], currency)} of {amount(limit['amount'], currency)}"
    return f"{drawn} {of} for the {limit['period']}"


def _drawn(moments: Sequence[replies.PoolMoment]) -> list[str]:
    """Demand and supply over the last looks, in equal steps of time, to one scale."""
    if len(moments) < 2:
        return []
    begin, end = moments[0]["at"], moments[-1]["at"]
    shown = []
    at = 0
    for column in range(_COLUMNS):
        until = begin + (end - begin) * (column + 1) / _COLUMNS
        while at + 1 < len(moments) and moments[at + 1]["at"] <= until:
            at += 1
        shown.append(moments[at])
    most = max(max(one["demand"], one["supply"]) for one in shown)
    if not most:
        return []

    def row(name: str, values: list[int]) -> str:
        steps = len(BARS) - 1
        return f"{name} {''.join(BARS[-(-value * steps // most)] for value in values)}"

    lasts = duration(end - begin)
    return [
        row("demand", [one["demand"] for one in shown]) + f" up to {most:,}, in the last {lasts}",
        row("supply", [one["supply"] for one in shown]),
    ]
