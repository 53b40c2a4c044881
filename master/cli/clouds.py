"""`bats clouds init|check|show`: the file of machines that can be had."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from bats.common.errors import BatsError, UsageError
from bats.master.cli.base import Command as _Command
from bats.master.cli.base import Common, Group, common, run
from bats.master.cli.words import amount, duration, table


@click.group(
    cls=Group,
    epilog="\b\nExamples:\n  bats clouds init > bats-clouds.toml\n  bats clouds check\n"
    "  bats clouds show --clouds clouds.toml",
)
def clouds() -> None:
    """Writes, checks and shows the clouds file: which machines can be had, at what price."""


@clouds.command(cls=_Command, epilog="\b\nExamples:\n  bats clouds init > bats-clouds.toml")
@common
def init(common: Common) -> None:
    """Prints a clouds file to start from, with what this computer can reach."""
    del common
    from bats.master.clouds.example import example
    from bats.master.clouds.found import look_around

    print(example(look_around()), end="")


@clouds.command(
    cls=_Command, epilog="\b\nExamples:\n  bats clouds show\n  bats clouds show my.toml"
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@common
def show(common: Common, file: Path | None) -> None:
    """Shows the offerings of a clouds file (default: the one that `bats run` would use)."""
    from bats.master.clouds.reading import clouds as read

    found = read(file or "")
    facts = {
        "file": found.path,
        "currency": found.currency,
        "offerings": [asdict(one) for one in found.offerings],
    }
    rows = [
        (
            one.name,
            one.backend,
            one.max_machines,
            one.slots,
            amount(one.price, found.currency),
            duration(one.atu_seconds),
        )
        for one in found.offerings
    ]
    head = ("offering", "back end", "machines", "slots", "price of an ATU", "ATU")
    common.facts(facts, lambda: f"{found.path or 'no clouds file: this computer'}\n"
                 + table(head, rows))  # fmt: skip


@clouds.command(
    cls=_Command, epilog="\b\nExamples:\n  bats clouds check\n  bats clouds check my.toml"
)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@common
def check(common: Common, file: Path | None) -> int:
    """Tries each offering for real, as far as that costs nothing."""
    from bats.master.clouds.reading import clouds as read

    found = read(file or "")
    told = run(_check(common, found))
    facts = {"file": found.path, "offerings": told}

    def text() -> str:
        return "\n".join(
            f"{'ok ' if one['ok'] else 'BAD'}  {one['name']}: {one['said']}" for one in told
        )

    common.facts(facts, text)
    return 0 if all(one["ok"] for one in told) else 2


async def _check(common: Common, found: Any) -> list[dict[str, Any]]:
    import sys

    from bats.deploy.protocol import Site
    from bats.deploy.registry import backend

    if not found.offerings:
        raise UsageError(f"{found.path} has no offering.")
    told = []
    with tempfile.TemporaryDirectory(prefix="bats-check-") as folder:
        site = Site("check", folder, (sys.executable, "-m", "bats.worker"))
        for offering in found.offerings:
            try:
                tried = backend(offering, site)
                try:
                    said, ok = await tried.check(), True
                finally:
                    await tried.close()
            except BatsError as error:
                said, ok = str(error), False
            told.append({"name": offering.name, "ok": ok, "said": said})
            common.note(f"asked {offering.name}")
    return told
