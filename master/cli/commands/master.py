"""`bats master` and `bats worker` serve in the foreground; `bats access` tells where keys are."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bats.common.errors import UsageError
from bats.common.wire.keys import read_access
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.connection import ACCESS

if TYPE_CHECKING:
    from bats.master.service.master import Master

_WORKER = "worker.json"


@command(
    examples="""
bats master                                   for this computer's users and workers
bats master --clouds clouds.toml              bags that bring no clouds file use this one
bats master --bind 0.0.0.0 --port 7000        for machines elsewhere
bats master --web 8000                        with a web page; its link is printed (to a terminal)
bats master --reach head.example.org          the name under which they find it
"""
)
@click.option("--clouds", type=click.Path(path_type=Path), help="Which machines can be had.")
@click.option("--bind", default="", metavar="ADDRESS",
              help="The address to listen at (default: this computer's own; all, if the clouds "
                   "file has machines elsewhere).")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=0,
              help="The port (default: the last one, else any that is free).")  # fmt: skip
@click.option("--reach", multiple=True, metavar="HOST",
              help="A name or address by which machines reach this computer.")  # fmt: skip
@click.option("--web", type=click.IntRange(0, 65535), metavar="PORT",
              help="Serve the web page there, to this computer; 0: any free port.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="Folder for what tasks write.")
@common
def master(
    common: Common,
    clouds: Path | None,
    bind: str,
    port: int,
    reach: tuple[str, ...],
    web: int | None,
    output: Path | None,
) -> None:
    """Runs the master in the foreground; Ctrl-C ends it in order, a restart goes on."""
    from bats.common.log import set_up_logging
    from bats.master.addresses import bind_for
    from bats.master.clouds.reading import clouds as read_clouds
    from bats.master.service.home import WORKER
    from bats.master.service.master import Master, serve
    from bats.master.service.options import Options

    found = read_clouds(clouds or "")
    set_up_logging("console", "warning" if common.quiet else "info", part="master")

    def ready(served: Master) -> None:
        folder = served.home.folder
        facts: dict[str, Any] = {
            "addresses": list(served.addresses),
            "access": str(folder / ACCESS),
            "worker_access": str(folder / WORKER),
            "state": str(folder),
            **({} if web is None else {"web": served.web.url}),
        }
        common.facts(facts, lambda: facts["access"] if common.quiet else (
            f"The master listens at {', '.join(served.addresses)}.\n"
            f"Clients:  --access {facts['access']}  (found by itself on this computer)\n"
            f"Workers:  bats worker --access {facts['worker_access']}"
            + ("" if web is None else f"\nWeb page: {_link(served)}")
        ))  # fmt: skip

    options = Options(
        state=common.state,
        bind=bind or bind_for(found.offerings),
        port=port,
        reach=reach,
        offerings=found.offerings,
        currency=found.currency,
        output=output,
        web_port=web,
    )
    run(serve(options, ready))


def _link(served: "Master") -> str:
    """The page's link to a terminal; to a log, which others may read, only where it stands."""
    if sys.stdout.isatty():
        return served.web.url
    return f"its link, a secret, stands in {served.home.folder / 'web.url'}"


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


@command(
    examples="""
bats access                             which files, and for which master
scp "$(bats access -q)" laptop:         to use this master from elsewhere
"""
)
@common
def access(common: Common) -> None:
    """Shows the access files of the master of this state folder. They hold secret keys."""
    path = common.access or common.state / ACCESS
    if not path.exists():
        raise UsageError(f"There is no access file {path}. `bats master` writes one.")
    held = read_access(path)
    facts = {
        "access": str(path),
        "role": held.role,
        "master": list(held.master),
        "worker_access": str(path.with_name(_WORKER)) if held.role == "client" else None,
    }

    def text() -> str:
        if common.quiet:
            return str(path)
        lines = [f"master    {', '.join(held.master)}", f"{held.role:<9} {path}"]
        if facts["worker_access"]:
            lines.append(f"worker    {facts['worker_access']}")
        return "\n".join(lines)

    common.facts(facts, text)
