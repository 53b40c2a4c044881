"""The program `bats`: finds the command, and says in one sentence what went wrong."""

import contextlib
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final, TextIO, cast

import click

from bats.common.errors import BatsError
from bats.common.escapes import harmless
from bats.master.cli.base import Command, Group
from bats.master.cli.display.terminal import Shown

INTERRUPTED: Final = 130
_BUG: Final = 70
_ALIKE: Final = 0.7  # of an option mistyped and one that is meant
_CALLED: Final = {
    "choose": "pick", "schedule": "pick", "cost": "budget", "money": "budget", "max-cost": "budget",
    "due": "deadline", "by": "deadline", "walltime": "timeout", "time-limit": "timeout",
}  # fmt: skip
"""Options as they are called elsewhere, and here."""

COMMANDS: Final = {
    "run": "Runs a sweep: samples, offers schedules, executes the chosen one, tells what it cost.",
    "master": "Runs the master in the foreground; Ctrl-C ends it in order, a restart goes on.",
    "worker": "Runs tasks for a master, as a machine of it.",
    "submit": "Submits a bag of tasks and prints its number.",
    "add": "Adds tasks to an open bag; they are durable when it says so.",
    "close": "Adds no more tasks to an open bag: it ends when those it has have ended.",
    "simulate": "Simulates a bag without running it: what would it cost, and how long would it "
    "take?",
    "schedules": "Shows the schedules that a bag offers after its sample.",
    "frontier": "Shows what strategies for unreliable machines would come to, by what the bag "
    "has learned.",
    "choose": "Chooses a schedule, by name or by a limit; also to change one's mind later.",
    "allow": "Allows a bag more money or time; what was chosen stays.",
    "drop": "Does without tasks that wait or run, so that time or money lasts for the others.",
    "status": "Shows how bags are doing.",
    "watch": "Shows a bag live and waits for its end.",
    "logs": "Prints the output of a task; of all tasks, each line with its number, with --follow.",
    "results": "Prints parameters, values, exit codes, times and machines of the tasks that "
    "have ended.",
    "report": "Writes a report: promise and outcome, where the money went, decisions, "
    "failures, machines.",
    "explain": "Answers why: of a bag's plan, or of one task.",
    "learned": "Shows what earlier bags tell of a command's runtimes: offers of the next bag "
    "count on it.",
    "cancel": "Ends a bag: running tasks are killed, machines stopped, results kept.",
    "retry": "Tries failed tasks again, also of a bag that has ended.",
    "pause": "Lets a bag stand still: it begins and buys nothing; what runs may end in its "
    "paid time.",
    "resume": "Goes on with a bag that stands still: paused, cancelled, or left by its master.",
    "weigh": "Gives a bag another part of the machines that bags share, while they run.",
    "placement": "Says which task of which bag goes first on the machines that all bags use.",
    "cap": "Caps what all bags of a master, or of a user, may spend in all.",
    "machines": "Lists the machines of a bag, and those that live and are in no bag's books.",
    "elasticity": "Measures how near the machines of a bag came to what it could use.",
    "pools": "Shows the pools of the master: demand and supply, money, and the last decision.",
    "clouds": "Writes, checks and shows the clouds file: which machines can be had, at what price.",
    "access": "Shows the access files of the master of this state folder.",
}
"""Each command with the first sentence of its help: to list them, none has to be loaded."""

_MODULES: Final = {
    "master": "serving",
    "worker": "serving",
    "add": "submit",
    "close": "submit",
    "watch": "status",
    "access": "serving",
    "schedules": "schedule_choice",
    "choose": "schedule_choice",
    "frontier": "schedule_choice",
    "elasticity": "machines",
    "pools": "machines",
    "allow": "control",
    "drop": "control",
    "learned": "explain",
    "cancel": "control",
    "retry": "control",
    "pause": "control",
    "resume": "control",
    "weigh": "control",
    "cap": "control",
    "placement": "control",
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
    """Knows the commands by name and first sentence; imports one when it is called."""

    _listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listing = True
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        if self._listing:
            return click.Command(cmd_name, help=COMMANDS[cmd_name])
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
    shown = sys.stdout if "--help" in sys.argv else cast("TextIO", Shown(sys.stdout))
    with contextlib.redirect_stdout(shown):
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        done = bats.main(args=arguments, prog_name="bats", standalone_mode=False)
    except click.ClickException as error:
        words = sys.argv[1:] if arguments is None else arguments
        return _tell(_sentence(error, words), error.exit_code)
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
    print(harmless(f"bats: {sentence}"), file=sys.stderr)
    return code


def _sentence(error: click.ClickException, words: Sequence[str]) -> str:
    if isinstance(error, click.NoSuchOption):
        known = [name.lstrip("-") for name in error.possibilities or ()]
        name = error.option_name.lstrip("-")
        # Of a number that was read as an option click tells the first letter only.
        number = next((one for one in words if one.startswith(error.option_name)), "")
        if re.match(r"-\.?\d", number):
            mend = "write 0 or more."
            if _path(error) == "bats add":
                mend = f"put `--` before it: bats add BAG -- {number}."
            return f"{number} is negative; {mend} See `{_path(error)} --help`."
        near = _called_here(name, error.ctx) or get_close_matches(name, known, 1, _ALIKE)
        end = f"; did you mean --{near[0]}?" if near else "."
        return f"There is no option {error.option_name}{end} See `{_path(error)} --help`."
    if isinstance(error, click.BadParameter) and type(error) is click.BadParameter:
        hint = error.param_hint or (error.param and error.param.get_error_hint(error.ctx)) or ""
        name = " / ".join([hint] if isinstance(hint, str) else hint).strip("'[]")
        wrong = _in_words(error.message)
        return f"{name}: {wrong}{'' if wrong.endswith('?') else '.'} See `{_path(error)} --help`."
    said = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx:
        said = said if said.endswith("?") else f"{said.rstrip('.')}."
        said = f"{said} See `{_path(error)} --help`."
    return said


def _called_here(name: str, context: click.Context | None) -> list[str]:
    """The option of this command that others call by that name, if it has it."""
    meant = _CALLED.get(name)
    options = context.command.params if context else ()
    return [meant] if meant and any(f"--{meant}" in one.opts for one in options) else []


def _in_words(message: str) -> str:
    """A complaint of click's about a value, without the letters of mathematics."""
    said = " ".join(message.split()).rstrip(".")
    said = re.sub(r"is not a valid integer( range)?$", "is not a whole number", said)
    said = re.sub(r"^(.*) is not in the range x>=(\d+)$", r"should be \2 or more, not \1", said)
    within = r"^(.*) is not in the range (\d+)<=x<=(\d+)$"
    return re.sub(within, r"should be from \2 to \3, not \1", said)


def _path(error: click.UsageError) -> str:
    return error.ctx.command_path if error.ctx else "bats"


def _written_down() -> str:
    with tempfile.NamedTemporaryFile(
        "w", prefix="bats-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"{sys.argv}\n")
        traceback.print_exc(file=file)
        return file.name
