"""Parts of all commands: the global options, wherever they stand, and how facts are printed."""

import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import click

from bats.common.escapes import harmless_in_json
from bats.common.records import dataclass
from bats.master.api.money_as_text import money_as_text
from bats.master.cli.display.terminal import drawn_on

T = TypeVar("T")

VERSION: Final = 1
"""The version of what `--json` prints; raised when a reader of an older one would err."""

# rich-click takes a while to load, so it is loaded for whoever reads help on a terminal.
if sys.stdout.isatty() and "--help" in sys.argv and not os.environ.get("NO_COLOR"):
    from rich_click import RichCommand as _Command
    from rich_click import RichGroup as _Group
else:
    from click import Command as _Command  # type: ignore[assignment]
    from click import Group as _Group  # type: ignore[assignment]


@dataclass(slots=True)
class Common:
    """The global options, and printing by them."""

    as_json: bool = False
    quiet: bool = False
    raw: bool = False
    access: Path | None = None
    state_named: Path | None = None
    aside: bool = False  # words go to standard error: what tasks wrote is on standard output

    @property
    def state(self) -> Path:
        """The state folder meant."""
        from bats.common.folders import default_state

        return (self.state_named or default_state()).expanduser()

    def facts(
        self, facts: Mapping[str, Any], text: Callable[[], str | None], kind: Any = None
    ) -> None:
        """Print facts of that type as JSON, or as a person reads them."""
        if self.as_json:
            print(as_json(facts, kind), flush=True)
        elif said := text():
            print(said, file=self._out, flush=True)

    def note(self, text: str) -> None:
        """Something on the way; not for programs, not in quiet."""
        if not (self.quiet or self.as_json):
            print(text, file=self._out, flush=True)

    @property
    def _out(self) -> TextIO:
        return sys.stderr if self.aside else sys.stdout


def as_json(facts: Mapping[str, Any], kind: Any = None) -> str:
    """One object in one line. Money, which their `kind` tells, is text, exact: `"0.0125"`."""
    told = {"bats": VERSION, **money_as_text(facts, kind)}
    return harmless_in_json(json.dumps(told, ensure_ascii=False, default=str))


def _keep(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    common = ctx.ensure_object(Common)
    if value and option.name:
        setattr(common, option.name, value)


def _show_raw(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    _keep(ctx, option, value)
    if value:
        sys.stdout = drawn_on()


def _common_options() -> list[click.Parameter]:
    """Accepted before and after the command's name."""
    return [
        click.Option(["--json", "as_json"], is_flag=True, expose_value=False, callback=_keep,
                     help='Print facts as JSON: {"bats": 1, ...}.'),
        click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_keep,
                     help="Print only what was asked for: ids, no progress."),
        click.Option(["--raw"], is_flag=True, expose_value=False, callback=_show_raw,
                     help="Print names and outputs as they are, control characters too."),
        click.Option(["--access"], type=click.Path(path_type=Path, dir_okay=False),
                     expose_value=False, callback=_keep, metavar="FILE",
                     help="The access file of the master meant (default: the state folder's)."),
        click.Option(["--state", "state_named"], type=click.Path(path_type=Path, file_okay=False),
                     expose_value=False, callback=_keep, metavar="FOLDER",
                     help="The state folder (default: $BATS_STATE or ~/.local/state/bats)."),
    ]  # fmt: skip


class Command(_Command):
    """A command that takes the global options too."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        named["params"] = [*(named.get("params") or []), *_common_options()]
        super().__init__(*arguments, **named)


class Group(_Group):
    """A group of such commands."""

    command_class = Command

    def __init__(self, *arguments: Any, **named: Any) -> None:
        named["params"] = [*(named.get("params") or []), *_common_options()]
        super().__init__(*arguments, **named)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Tell who mistypes a command which was probably meant."""
        name = args[0]
        known = self.list_commands(ctx)
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = get_close_matches(name.lower(), known, 1, 0.5)
            what = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}."
            raise click.UsageError(f"There is no command {name!r}; {what}", ctx)
        return super().resolve_command(ctx, args)


def command(*, examples: str, name: str | None = None, **named: Any) -> Callable[..., Command]:
    """Declare a command; `examples` end its help."""
    lines = "\n".join(f"  {line}" for line in examples.strip().split("\n"))
    epilog = f"\b\nExamples:\n{lines}"
    return click.command(name, cls=Command, epilog=epilog, **named)


common = click.make_pass_decorator(Common, ensure=True)
"""Gives a command its `Common` as first argument."""


def run(work: Coroutine[Any, Any, T]) -> T:
    import asyncio  # not for who only reads help

    return asyncio.run(work)
