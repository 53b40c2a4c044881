"""Questions to a bag that several commands ask, and options that they share."""

from collections.abc import Mapping
from typing import Any

import click

from bats.master.cli.base import Common, run
from bats.master.cli.connection import look


class BagName(click.ParamType[int | str]):
    """A number, a name or `last`."""

    name = "bag"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        del param, ctx
        text = str(value)
        return int(text) if text.isdecimal() else text


bag_argument = click.argument("bag", type=BagName(), default="last")


def ask(common: Common, verb: str, **body: Any) -> dict[str, Any]:
    """One question, one answer."""

    async def asking() -> dict[str, Any]:
        async with look(common) as client:
            return await client.ask(verb, **body)

    return run(asking())


def exit_code(status: Mapping[str, Any]) -> int:
    """The exit code of a command that waited for this bag."""
    if status.get("paused"):
        return 1
    state = status.get("state", "")
    if state == "complete":
        return 3 if status.get("deadline_missed") else 0
    if state in {"with failures", "broken"}:
        return 1
    if state == "cancelled":
        return 130
    return 3 if state in {"out of budget", "no machines"} else 0
