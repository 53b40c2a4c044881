"""The program `bats`: finds the command, and says in one sentence what went wrong."""

import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

from bats.common.errors import BatsError
from bats.master.cli.base import Command, Group

INTERRUPTED: Final = 130
_BUG: Final = 70

COMMANDS: Final = (
    "run",
    "master",
    "worker",
    "submit",
    "simulate",
    "schedules",
    "choose",
    "status",
    "watch",
    "logs",
    "results",
    "report",
    "explain",
    "cancel",
    "retry",
    "resume",
    "machines",
    "clouds",
    "access",
)
_MODULES: Final = {
    "worker": "master",
    "watch": "status",
    "access": "master",
    "choose": "schedules",
    "cancel": "control",
    "retry": "control",
    "resume": "control",
}

EPILOG = """\b
Examples:
  bats run sweep.toml                    run it here and now, for nothing
  bats run sweep.toml --clouds clouds.toml --budget 5
  bats master                            in one shell,
  bats submit sweep.toml                 and in others
  bats status
\b
Exit codes: 0 done, 1 tasks failed or paused, 2 wrong usage or file, 3 budget or deadline
cannot be met or was missed, 4 no master reached or refused, 130 interrupted.
Completion: eval "$(_BATS_COMPLETE=bash_source bats)"
"""


class Lazy(Group):
    """Knows the commands by name; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"bats.master.cli.commands.{_MODULES.get(cmd_name, cmd_name)}")
        found = getattr(module, cmd_name)
        assert isinstance(found, Command | Group)
        return found


@click.command(cls=Lazy, epilog=EPILOG)
@click.version_option(package_name="bats-scheduler", message="bats %(version)s")
def bats() -> None:
    """Runs bags of tasks on machines you pay for, within a budget or a deadline.

    BaTS runs a sample, offers schedules with their price and time, and executes the one you choose.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code; whatever happens is told on stderr."""
    try:
        done = bats.main(args=arguments, prog_name="bats", standalone_mode=False)
    except click.ClickException as error:
        return _tell(_sentence(error), error.exit_code)
    except click.Abort:
        return _tell("interrupted.", INTERRUPTED)
    except KeyboardInterrupt:
        return _tell("interrupted.", INTERRUPTED)
    except BatsError as error:
        return _tell(str(error), error.exit_code)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _tell(f"{where}{error.strerror or error}.", 2)
    except Exception as error:
        return _tell(
            f"a mistake of ours: {type(error).__name__}: {error}. "
            f"Please report it; details are in {_written_down()}.",
            _BUG,
        )
    return done if isinstance(done, int) else 0


def _tell(sentence: str, code: int) -> int:
    print(f"bats: {sentence}", file=sys.stderr)
    return code


def _sentence(error: click.ClickException) -> str:
    said = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx:
        said = said if said.endswith("?") else f"{said.rstrip('.')}."
        said = f"{said} See `{error.ctx.command_path} --help`."
    return said


def _written_down() -> str:
    with tempfile.NamedTemporaryFile(
        "w", prefix="bats-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"{sys.argv}\n")
        traceback.print_exc(file=file)
        return file.name
