"""`bats clouds init|show|check|prices`: the file of machines that can be had."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict

import click

from bats.common.errors import UsageError
from bats.common.money import Money
from bats.master.cli.base import Command as _Command
from bats.master.cli.base import Common, Group, common, run
from bats.master.cli.display.formatting import amount, duration, table

if TYPE_CHECKING:
    from bats.deploy.trial import Trial
    from bats.master.clouds.clouds_in_python import Clouds


def _remember(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    ctx.meta[_OPTION] = value


def _either(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    named: Path | None = ctx.meta.get(_OPTION)
    if named and value:
        raise click.BadParameter("the clouds file is named twice.", ctx, param)
    return named or value


_OPTION: Final = "bats.clouds"


def _file(command: Callable[..., Any]) -> Callable[..., Any]:
    """The clouds file as an argument, or as the option that `bats run` has."""
    argument = click.argument(
        "file", type=click.Path(path_type=Path), required=False, callback=_either
    )
    option = click.option(
        "--clouds", type=click.Path(path_type=Path), is_eager=True, expose_value=False,
        callback=_remember, metavar="FILE", help="The same as FILE.",
    )  # fmt: skip
    return argument(option(command))


class _Span(click.ParamType[float]):
    """A duration, as `90s` or `5m`."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        from bats.common.units import seconds

        try:
            return seconds(value) if isinstance(value, str) else float(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


@click.group(
    cls=Group,
    epilog="\b\nExamples:\n  bats clouds init > bats-clouds.toml\n  bats clouds check\n"
    "  bats clouds prices --write\n  bats clouds show clouds.toml",
)
def clouds() -> None:
    """Writes, checks and shows the clouds file: which machines can be had, at what price."""


class _Found(TypedDict):
    price: Money | None
    priced: str


class _PricedOffering(TypedDict):
    name: str
    price: Money
    found: _Found
    error: str
    written: bool


class _Priced(TypedDict):
    file: str
    offerings: list[_PricedOffering]


@clouds.command(cls=_Command, epilog="\b\nExamples:\n  bats clouds init > bats-clouds.toml")
@common
def init(common: Common) -> None:
    """Prints a clouds file to start from, with what this computer can reach."""
    del common
    from bats.master.clouds.discovery import look_around
    from bats.master.clouds.example import example

    print(example(look_around()), end="")


@clouds.command(
    cls=_Command,
    epilog="\b\nExamples:\n  bats clouds show\n  bats clouds show my.toml\n"
    "  bats clouds show --script cluster",
)
@_file
@click.option("--script", metavar="OFFERING",
              help="Print the job script of one of its machines; submit nothing.")  # fmt: skip
@common
def show(common: Common, file: Path | None, script: str | None) -> None:
    """Shows the offerings of a clouds file (default: the one that `bats run` would use)."""
    from bats.master.clouds.clouds_reading import clouds as read

    found = read(file or "")
    if script is not None:
        text = _script(common, found, script)
        common.facts({"offering": script, "script": text}, text.rstrip)
        return
    facts = {
        "file": found.path,
        "currency": found.currency,
        "offerings": found.offerings,
    }
    rows = [
        (
            one.name,
            one.backend,
            one.max_machines,
            str(one.machine),
            amount(one.price, found.currency),
            duration(one.atu_seconds),
            one.priced,
        )
        for one in found.offerings
    ]
    head = ("offering", "back end", "machines", "each has", "price of an ATU", "ATU", "priced")
    path = found.path or "no clouds file: this computer"
    common.facts(facts, lambda: "\n".join([path, table(head, rows), *_pools(found)]))


def _pools(found: "Clouds") -> list[str]:
    """A line for each pool of the file."""
    return [
        f"pool {pool.name}: {pool.least} to {pool.most} machines of "
        f"{', '.join(kind.name for kind in pool.kinds)}; "
        f"{pool.scaler} is asked every {duration(pool.interval_seconds)}"
        for pool in found.pools
    ]


def _script(common: Common, found: "Clouds", name: str) -> str:
    from bats.deploy.protocol import Scripted
    from bats.deploy.registry import backend
    from bats.master.clouds.checking import site_of

    wanted = [one for one in found.offerings if one.name == name]
    if not wanted:
        known = ", ".join(one.name for one in found.offerings)
        raise UsageError(f"There is no offering {name}; there are {known}.")
    asked = backend(wanted[0], site_of("script", common.state.expanduser().absolute()))
    if not isinstance(asked, Scripted):
        raise UsageError(f"Offering {name} is of {wanted[0].backend}, which takes no job scripts.")
    return asked.script()


@clouds.command(
    cls=_Command,
    epilog="\b\nExamples:\n  bats clouds check\n  bats clouds check my.toml --only cluster\n"
    "  bats clouds check --no-start",
)
@_file
@click.option("--only", multiple=True, metavar="OFFERING", help="Try this one only.")
@click.option("--no-start", is_flag=True, help="Only ask, as far as that costs nothing.")
@click.option("--wait", type=_Span(), default="5m", show_default=True,
              help="How long a machine may take to come.")  # fmt: skip
@common
def check(
    common: Common, file: Path | None, only: tuple[str, ...], no_start: bool, wait: float
) -> int:
    """Tries each offering for real: starts one machine, runs `true` there, stops it.

    What that costs is told; machines of an offering that has no price cost nothing.
    """
    from bats.master.clouds.checking import check as try_all
    from bats.master.clouds.clouds_reading import clouds as read

    found = read(file or "")
    if strange := set(only) - {one.name for one in found.offerings}:
        known = ", ".join(one.name for one in found.offerings)
        raise UsageError(f"There is no offering {', '.join(sorted(strange))}; there are {known}.")
    wanted = [one for one in found.offerings if not only or one.name in only]
    told = run(
        try_all(wanted, common.state, start=not no_start, patience_seconds=wait, note=common.note)
    )
    facts = {"file": found.path, "offerings": told}

    def text() -> str:
        rows = [
            (
                one.name,
                one.backend,
                "works" if one.ok else "FAILS",
                *(duration(part(one.trial)) if one.trial else "" for part in _PARTS.values()),
                amount(one.cost, found.currency) if one.trial else "",
            )
            for one in told
        ]
        head = ("offering", "back end", "", *_PARTS, "cost")
        total = Money(sum(one.cost or 0 for one in told))
        said = [f"{one.name}: {one.said}" for one in told]
        cost = f"cost: {amount(total, found.currency)}"
        return "\n".join([table(head, rows), "", *said, cost, *_pools(found)])

    common.facts(facts, text)
    return 0 if all(one.ok for one in told) else 2


_PARTS: Final[Mapping[str, Callable[["Trial"], float]]] = {
    "queued": lambda trial: trial.queued_seconds,
    "joined after": lambda trial: trial.join_seconds,
    "`true` took": lambda trial: trial.task_seconds,
    "gone after": lambda trial: trial.stop_seconds,
}


@clouds.command(
    cls=_Command,
    epilog="\b\nExamples:\n  bats clouds prices\n  bats clouds prices clouds.toml --write",
)
@_file
@click.option("--write", is_flag=True, help="Put the prices and their date into the file.")
@common
def prices(common: Common, file: Path | None, write: bool) -> int:
    """Looks up what machines cost now, where providers tell, and compares it with the file."""
    from bats.master.clouds import pricing
    from bats.master.clouds.clouds_reading import clouds as read

    found = read(file or "")
    told = run(pricing.look_up(found.offerings, common.state))
    if not told:
        raise UsageError("No offering there is of a provider that tells its prices; ec2 does.")
    written = pricing.write(found.path, told) if write else []
    facts = {
        "file": found.path,
        "offerings": [
            {
                "name": one.offering.name,
                "price": one.hourly,
                "found": {"price": one.price and one.price.per_hour, "priced": one.priced},
                "error": one.error,
                "written": one.offering.name in written,
            }
            for one in told
        ],
    }
    rows = [
        (
            one.offering.name,
            amount(one.hourly, found.currency),
            amount(one.price.per_hour) if one.price else "–",
            one.priced if one.price else one.error,
            "written" if one.offering.name in written else "",
        )
        for one in told
    ]
    head = ("offering", "an hour by the file", "now", "priced", "")
    common.facts(facts, lambda: table(head, rows), _Priced)
    return 2 if any(one.error for one in told) else 0
