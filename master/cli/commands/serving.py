"""`bats master` and `bats worker` serve in the foreground; `bats access` tells where keys are."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bats.common.errors import UsageError
from bats.common.units import octets
from bats.common.wire.keys import read_access
from bats.master.api.replies import HandKey, HandKeyRevoked
from bats.master.api.requests import Dismiss, GetHandKeys, GetUsers, Invite, RevokeHandKey
from bats.master.cli.access import ACCESS
from bats.master.cli.base import Common, command, common, run
from bats.master.cli.display.formatting import table
from bats.master.cli.policy_options import PolicyName
from bats.master.cli.questions import ask

if TYPE_CHECKING:
    from bats.master.service.master import Master

_WORKER = "worker.json"


def sharings() -> tuple[str, ...]:
    from bats.master.service.options import sharings

    return sharings()


class Size(click.ParamType[int]):
    """A number of bytes, as `10G`."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            return octets(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


@command(
    examples="""
bats master                                   for this computer's users and workers
bats master --clouds clouds.toml              bags that bring no clouds file use this one
bats master --bind 0.0.0.0 --port 7000        for machines elsewhere
bats master --web 8000                        with a web page; its link is printed (to a terminal)
bats master --notify 'jq -r .words | mail -s BaTS me'
bats master --reach head.example.org          the name under which they find it
bats master --settings master.toml            all that, caps and weights of users from a file
"""
)
@click.option("--settings", "settings_file", type=click.Path(path_type=Path), metavar="FILE",
              help="Where these options, caps and weights of users stand (master.toml in the "
                   "state folder, if it is there); options that are given win.")  # fmt: skip
@click.option("--clouds", type=click.Path(path_type=Path), help="Which machines can be had.")
@click.option("--bind", default="", metavar="ADDRESS",
              help="The address to listen at (default: this computer's own; all, if the clouds "
                   "file has machines elsewhere).")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535),
              help="The port (default: the last one, else any that is free).")  # fmt: skip
@click.option("--reach", multiple=True, metavar="HOST",
              help="A name or address by which machines reach this computer.")  # fmt: skip
@click.option("--web", type=click.IntRange(0, 65535), metavar="PORT",
              help="Serve the web page there, to this computer; 0: any free port.")  # fmt: skip
@click.option("--sharing", type=PolicyName(sharings), metavar="NAME",
              help="Who goes first on machines that all bags use: by weight (fair), the first "
                   "that came (fifo), the highest priority (priority).")  # fmt: skip
@click.option("--placement", default="", metavar="NAME",
              help="Which task of which bag goes first, by name, as `bats placement` lists and "
                   "changes them (as it was left; random at first).")  # fmt: skip
@click.option("--notify", default="", metavar="COMMAND",
              help="Run when a bag waits for a choice, pauses, ends or runs short, with a JSON "
                   "object on its standard input.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="Folder for what tasks write.")
@click.option("--task-files", type=Size(), metavar="SIZE",
              help="What the output files of a task may come to (16 GB).")  # fmt: skip
@click.option("--bag-files", type=Size(), metavar="SIZE",
              help="What those of a bag may come to (1 TB).")  # fmt: skip
@click.option("--restore", is_flag=True,
              help="The state folder is a copy: give it an identity of its own, once.")  # fmt: skip
@click.option("--fixed-clouds", is_flag=True,
              help="Refuse machines that bags bring, for these run commands here.")  # fmt: skip
@common
def master(
    common: Common,
    settings_file: Path | None,
    clouds: Path | None,
    bind: str,
    port: int | None,
    reach: tuple[str, ...],
    web: int | None,
    sharing: str | None,
    placement: str,
    notify: str,
    output: Path | None,
    task_files: int | None,
    bag_files: int | None,
    restore: bool,
    fixed_clouds: bool,
) -> None:
    """Runs the master in the foreground; Ctrl-C ends it in order, a restart goes on."""
    from bats.common.log import set_up_logging
    from bats.master.addresses import bind_for
    from bats.master.cli.master_file import settings
    from bats.master.clouds.clouds_reading import clouds as read_clouds
    from bats.master.service.home import WORKER
    from bats.master.service.master import Master, serve
    from bats.master.service.options import Options

    usual = settings(settings_file, common.state)
    if usual.sharing not in sharings():
        raise UsageError(f"`sharing`: there is no {usual.sharing}; use {', '.join(sharings())}.")
    found = read_clouds(clouds or usual.clouds)
    set_up_logging("console", "warning" if common.quiet else "info", part="master")

    def ready(served: Master) -> None:
        folder = served.home.folder
        facts: dict[str, Any] = {
            "addresses": list(served.addresses),
            "access": str(folder / ACCESS),
            "worker_access": str(folder / WORKER),
            "state": str(folder),
            **_page(served),
        }
        common.facts(facts, lambda: facts["access"] if common.quiet else (
            f"The master listens at {', '.join(served.addresses)}.\n"
            f"Clients:  --access {facts['access']}  (found by itself on this computer)\n"
            f"Workers:  bats worker --access {facts['worker_access']}"
            + (f"\nWeb page: {_link(served)}" if served.web else "")
        ))  # fmt: skip

    options = Options(
        state=common.state,
        bind=bind or usual.bind or bind_for(found.offerings),
        port=usual.port if port is None else port,
        reach=reach or tuple(usual.reach),
        offerings=found.for_bags,
        pools=found.pools,
        currency=found.currency,
        sharing=sharing or usual.sharing,
        placement=placement or usual.placement,
        caps=tuple(one.request() for one in usual.cap),
        user_weights=usual.weights,
        notify=notify or usual.notify,
        output=output or (Path(usual.output).expanduser() if usual.output else None),
        fixed_offerings=fixed_clouds or usual.fixed_clouds,
        restored=restore,
        task_files_bytes=usual.task_files if task_files is None else task_files,
        bag_files_bytes=usual.bag_files if bag_files is None else bag_files,
        web_port=usual.web if web is None else web,
    )
    run(serve(options, ready))


def _page(served: "Master") -> dict[str, str]:
    """The page's address, and the file of its link: that is secret, and facts are journaled."""
    page = served.web
    return {"web": page.address, "web_link": str(page.link)} if page else {}


def _link(served: "Master") -> str:
    """The page's link to a terminal; to a log, which others may read, only where it stands."""
    page = served.web
    if page is None:
        return ""
    return page.url if sys.stdout.isatty() else f"its link, a secret, stands in {page.link}"


@command(
    examples="bats worker --access ~/.local/state/bats/worker.json --slots 4",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def worker(arguments: tuple[str, ...]) -> int:
    """Runs tasks for a master, as a machine of it."""
    from bats.worker.command_line import main

    return main(arguments)


@command(
    examples="""
bats access                             which files, and for which master
scp "$(bats access -q)" laptop:         to use this master from elsewhere
bats access add ann                     an access file for Ann: her bags are hers
bats access list                        users, and keys of workers started by hand
bats access revoke ann                  lock out a user, or a worker by its number or key
"""
)
@click.argument("what", type=click.Choice(["show", "add", "list", "revoke"]), default="show",
                metavar="[add|list|revoke]")  # fmt: skip
@click.argument("key", default="")
@common
def access(common: Common, what: str, key: str) -> None:
    """Shows the access files of the master of this state folder. They hold secret keys.

    `worker.json` only invites: each worker that comes with it gets a key of its own. Revoking one
    locks out that worker alone, and has `worker.json` written anew for workers to come.

    A file that `add` writes carries a name: who has it looks after bags of that name and no others.
    """
    if bool(key) != (what in ("add", "revoke")):
        raise click.UsageError("`add` needs a name, `revoke` a name or a worker, others none.")
    if what == "list":
        users, told = ask(common, GetUsers())["users"], ask(common, GetHandKeys())
        facts = {"users": users, "workers": told["workers"]}
        common.facts(facts, lambda: f"{_users(users)}\n{_keys(told['workers'])}")
    elif what == "add":
        made = ask(common, Invite(user=key))
        common.facts(made, lambda: made["access"] if common.quiet else (
            f"{made['user']} may use this master with {made['access']}, which holds a secret key.\n"
            "Copy it to them, to ~/.local/state/bats/access.json or wherever --access names."
        ))  # fmt: skip
    elif what == "revoke" and key in ask(common, GetUsers())["users"]:
        left = ask(common, Dismiss(user=key))
        common.facts(left, lambda: f"{key} is locked out; bags of theirs go on.")
    elif what == "revoke":
        gone = ask(common, RevokeHandKey(key=key))
        common.facts(gone, lambda: _revoked(gone))
    else:
        _show_files(common)


def _users(users: Sequence[str]) -> str:
    return f"Users: {', '.join(users)}." if users else "No user has a key that carries a name."


def _keys(workers: Sequence[HandKey]) -> str:
    if not workers:
        return "No worker started by hand has a key."
    rows = [
        (one["key"], one["machine"] or "", one["host"], _day(one["since"]),
         "there" if one["there"] else "")
        for one in workers
    ]  # fmt: skip
    return table(("key", "machine", "host", "since", ""), rows)


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _revoked(gone: HandKeyRevoked) -> str:
    where = f" on {gone['host']}" if gone["host"] else ""
    return (
        f"Machine {gone['machine']}{where} is locked out; its tasks go to others. "
        "Workers to come need the new worker.json."
    )


def _show_files(common: Common) -> None:
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
