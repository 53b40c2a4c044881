"""`bats worker`, for those who write global options before it; else it never comes here."""

import click

from bats.master.cli.base import command


@command(
    examples="bats worker --access ~/.local/state/bats/worker.json --slots 4",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def worker(arguments: tuple[str, ...]) -> int:
    """Runs tasks for a master, as a machine of it."""
    from bats.worker.main import main

    return main(arguments)
