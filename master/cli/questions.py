"""Questions to a bag that several commands ask, and options that they share."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import click

from bats.common.errors import UsageError
from bats.common.money import Money, currency_apart, money
from bats.common.units import seconds
from bats.master.api.asking import ask as ask_of
from bats.master.api.replies import BagLine, Status
from bats.master.api.requests import OfBag, Request
from bats.master.cli.access import look
from bats.master.cli.base import Common, run

R = TypeVar("R")


class BagName(click.ParamType[int | str]):
    """A number, a name or `last`."""

    name = "bag"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        del param, ctx
        text = str(value)
        return int(text) if text.isdecimal() else text


bag_argument = click.argument("bag", type=BagName(), default="last")


def of_all_bags(option: str) -> None:
    """Refuse a bag that is named beside an option which is of all of them."""
    context = click.get_current_context()
    if context.get_parameter_source("bag") is click.core.ParameterSource.COMMANDLINE:
        bag = context.params["bag"]
        raise click.UsageError(f"{option} is of all bags, not of bag {bag}; leave one out.")


def ask(common: Common, request: Request[R]) -> R:
    """One question, one answer."""

    async def asking() -> R:
        async with look(common) as client:
            return await ask_of(client, request)

    return run(asking())


def change(common: Common, request: OfBag[R], words: Callable[[R], str]) -> None:
    """Have a bag changed, and say so in words; in quiet, its number alone."""
    answer = ask(common, request)
    facts = cast("Mapping[str, Any]", answer)
    common.facts(
        facts, lambda: str(facts["bag"]) if common.quiet else words(answer), request.reply()
    )


def limits(budget: str | None, deadline: str | None) -> tuple[Money | None, float | None]:
    """The money and the seconds that a user allows. Raises UsageError."""
    try:
        at_most = None if budget is None else money(currency_apart(budget)[0])
        within = None if deadline is None else seconds(deadline)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    return at_most, within


def exit_code(status: BagLine | Status) -> int:
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
