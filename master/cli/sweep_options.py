"""The options that describe a sweep and how to run it: those of `bats run` and `bats submit`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

import click

from bats.common.capacity.resources import Resources
from bats.common.errors import UsageError
from bats.common.money import Money, currency_apart
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.common.units import seconds, show_octets
from bats.master.cli.display.formatting import amount, count, duration
from bats.master.cli.policy_options import policy_and_seed_options, policy_given, policy_in_words

if TYPE_CHECKING:
    from bats.master.api.replies import Submitted
    from bats.master.client import Client
    from bats.master.clouds.clouds_in_python import Clouds
    from bats.master.sweep.sweep import Sweep
    from bats.master.sweep.work import Work
    from bats.master.sweep.workflow.task_list import Emulation

_MOST_NOTES: Final = 8
_FEW: Final = 3  # commands shown from each end

_OPTIONS: Final = (
    click.argument("words", nargs=-1, metavar="[SWEEP | -] [-- COMMAND... [::: VALUES...]]"),
    click.option("-p", "--param", "parameters", multiple=True, metavar="NAME=VALUES",
                 help="A parameter: `seed=1,2,3`, `alpha=0:1:0.1` or `name=@file`."),
    click.option("--zip", "zipped", multiple=True, metavar="NAME=VALUES",
                 help="Likewise; these go together row by row."),
    click.option("--array", default="", help="Task numbers as Slurm writes them: 1-1000:2."),
    click.option("--csv", "csv_file", default="", metavar="FILE", help="A task for each row."),
    click.option("--name", help="What to call the bag."),
    click.option("--timeout", help="How long a task may run: 90s, 1h 30m."),
    click.option("--cpus", type=int, help="CPUs of its machine that a task takes (1)."),
    click.option("--memory", help="Memory that a task has, killed if it takes more: 2G."),
    click.option("--gpus", type=int, help="GPUs that a task has to itself (none)."),
    click.option("--pids", type=int, help="How many processes and threads a task may have."),
    click.option("--retries", type=int, help="How often a failed task is tried again (1)."),
    click.option("--max-failures", type=int,
                 help="So many failed tasks pause the bag (the first dozen alike)."),
    click.option("--cwd", help="Where tasks run."),
    click.option("--compat", type=click.Choice(["slurm", "sge"]),
                 help="Also set the variables of that system's job arrays."),
    click.option("--clouds", "clouds_file", default="", metavar="FILE",
                 help="Which machines can be had, and their prices."),
    click.option("--budget", metavar="MONEY", help="What all of it may cost at most: 12.50."),
    click.option("--deadline", metavar="DURATION", help="When it should be done: 2h 30m."),
    click.option("--pick", metavar="SCHEDULE",
                 help="Choose beforehand: cheapest, cheapest+10%, cheapest+20%, balanced, "
                 "fastest-20%, fastest-10% or fastest."),
    click.option("--notify", metavar="COMMAND",
                 help="Run by the master when somebody should know, with JSON on standard input."),
    policy_and_seed_options,
    click.option("--term", metavar="DURATION", hidden=True),
    click.option("-y", "--yes", is_flag=True,
                 help="Ask nothing: the balanced schedule, unless a limit or --pick says more."),
    click.option("--emulate", type=click.Choice(["sleep", "processor"]),
                 help="Of a recorded workflow: each task takes its time, asleep or at work."),
    click.option("--speedup", type=click.FloatRange(min=0, min_open=True),
                 help="With --emulate: so many times as fast."),
    click.option("--dry-run", is_flag=True, help="Show what would be run, and run nothing."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wishes that the options say."""

    sweep: "Work"
    clouds: "Clouds | None"  # None: none named, the master's
    rule: str  # "": nothing was decided beforehand


def sweep_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wanted(
    words: Sequence[str],
    given: Mapping[str, Any],
    *,
    find_clouds: bool,
    after: bool = False,
    to_be_open: bool = False,
) -> Wanted:
    """Raises UsageError with one sentence. `after`: a `--` stood before the words."""
    from bats.master.clouds.clouds_reading import clouds
    from bats.master.sweep.arguments import from_arguments

    found = clouds(given["clouds_file"]) if given["clouds_file"] or find_clouds else None
    budget = given["budget"] and in_currency(given["budget"], found.currency if found else "")
    file, lines, words = _file_and_words(words, given, after=after)
    keys = (
        "name", "timeout", "cpus", "memory", "gpus", "pids", "retries", "max_failures", "cwd",
        "compat", "budget", "deadline", "pick", "notify",
    )  # fmt: skip
    sweep = from_arguments(
        words,
        file=file,
        parameters=given["parameters"],
        zipped=given["zipped"],
        array=given["array"],
        csv_file=given["csv_file"],
        lines=lines,
        settings={key: given[key] for key in keys} | {"budget": budget},
        policy=policy_given(given, "seed"),
        emulation=_emulation(given),
        to_be_open=to_be_open,
    )
    _tell(getattr(sweep, "notes", ()))
    limited = sweep.budget is not None or sweep.deadline_seconds is not None
    usual = "fastest" if limited else "balanced" if given["yes"] else ""
    if given["term"] is not None:
        _seconds(given["term"], "--term")
        click.echo(f"{TERM}.", err=True)
    return Wanted(sweep, found, sweep.pick or usual)


def after_dashes(words: tuple[str, ...]) -> bool:
    """True if the words stood behind `--`, which click takes away."""
    return "--" in sys.argv and sys.argv[sys.argv.index("--") + 1 :][: len(words)] == list(words)


def _emulation(given: Mapping[str, Any]) -> "Emulation | None":
    from bats.master.sweep.workflow.task_list import Emulation

    if given["emulate"] is None:
        if given["speedup"] is not None:
            raise click.UsageError("--speedup goes with --emulate, of a recorded workflow.")
        return None
    return Emulation(given["emulate"] == "processor", given["speedup"] or 1.0)


def _tell(notes: Sequence[str]) -> None:
    """Tell what of a file means nothing here."""
    for note in notes[:_MOST_NOTES]:
        click.echo(f"bats: {note}.", err=True)
    if len(notes) > _MOST_NOTES:
        more = len(notes) - _MOST_NOTES
        click.echo(f"bats: and {more:,} more of that kind.", err=True)


_SIGNS: Final = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}


def in_currency(budget: str, currency: str) -> str:
    """The amount alone; one that names its currency names that of the prices, where it is known."""
    amount_written, word = currency_apart(budget)
    if word and currency and _SIGNS.get(word, word) != _SIGNS.get(currency, currency):
        raise UsageError(
            f"--budget: {budget} is in {word}, and prices here are in {currency}; "
            "give the amount in that."
        )
    return amount_written


TERM: Final = "--term is without effect: money is reserved to the expected ends of tasks"


def _seconds(text: str | None, option: str) -> float | None:
    try:
        return None if text is None else seconds(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.") from None


_SWEEPS: Final = (".toml", ".yaml", ".yml", ".json")
_OF_COMMANDS: Final = "{}$;|<>"  # no name of a sweep file has these


def _file_and_words(
    words: Sequence[str], given: Mapping[str, Any], *, after: bool
) -> tuple[str, Any, Sequence[str]]:
    """The first word is a sweep file, or - for standard input, if no `--` stands before it.

    Where values follow after `:::`, or a - at the end, it is a command.
    """
    from bats.master.sweep.one_liner import is_one_liner

    if not words:
        raise click.UsageError("Name a sweep file, or give a command after `--`.")
    if after or (is_one_liner(words) and words[0] != "-"):
        if not after and words[0].endswith(_SWEEPS) and Path(words[0]).is_file():
            raise UsageError(f"{words[0]} is a sweep file, which has values of its own; `:::` and "
                             "values stand behind a command.")  # fmt: skip
        return "", None, words
    if words[-1] == "-" and not Path(words[0]).is_file():
        words = ("-", *words[:-1])
    first, rest = words[0], words[1:]
    if first == "-":
        return "", sys.stdin, rest
    makes = given["parameters"] or given["zipped"] or given["array"] or given["csv_file"]
    if makes and not Path(first).is_file():
        return "", None, words
    if not Path(first).exists() and _is_command(first):
        raise UsageError(
            f"There is no sweep file called {first!r}. A command stands after `--`, "
            "before `:::` and values, or beside `-` for lines of standard input."
        )
    return first, None, rest


def _is_command(word: str) -> bool:
    """True of what is no name of a sweep file, or begins with the name of a program."""
    import shutil

    return bool(set(word) & set(_OF_COMMANDS) or shutil.which(word.partition(" ")[0]))


async def submit(client: "Client", want: Wanted, **more: Any) -> "Submitted":
    """The master's answer."""
    from bats.master import submitting

    if want.clouds is None:
        return await submitting.submit(client, want.sweep, **more)
    more["currency"] = want.clouds.currency
    return await submitting.submit(client, want.sweep, want.clouds.for_bags, **more)


class DryRun(TypedDict):
    name: str
    tasks: int
    first: list[str]
    last: list[str]
    budget: Money | None
    deadline_seconds: float | None
    rule: str
    policy: dict[str, Any]
    steps: NotRequired[list[dict[str, Any]]]
    offerings: NotRequired[tuple[Offering, ...]]


def dry_run(want: Wanted) -> tuple[DryRun, str]:
    """The plan of a dry run, as facts and in words."""
    from bats.master.sweep.workflow.drawing import drawing, facts_of

    sweep = want.sweep
    first = range(min(_FEW, sweep.count))
    last = range(max(len(first), sweep.count - _FEW), sweep.count)
    facts: DryRun = {
        "name": sweep.name,
        "tasks": sweep.count,
        "first": [sweep.preview(k) for k in first],
        "last": [sweep.preview(k) for k in last],
        "budget": sweep.budget,
        "deadline_seconds": sweep.deadline_seconds,
        "rule": want.rule or "ask",
        "policy": dict(sweep.policy),
    }
    lines = [f"{sweep.name}: {count(sweep.count, 'task')}"]
    if sweep.open:
        lines[0] += f" so far, each with {', '.join(sweep.names)}"
    if sweep.graph is not None:
        facts["steps"] = facts_of(sweep.graph)
        lines[0] += f" in {count(len(sweep.graph.steps), 'step')}"
        lines += [f"  {line}" for line in drawing(sweep.graph)]
    width = len(str(sweep.count - 1))
    lines += [f"  {k:>{width}}  {said}" for k, said in zip(first, facts["first"], strict=True)]
    if last and last[0] > len(first):
        lines.append(f"  {'…':>{width}}")
    lines += [f"  {k:>{width}}  {said}" for k, said in zip(last, facts["last"], strict=True)]
    lines += _each_of(sweep)
    if want.clouds is not None:
        facts["offerings"] = want.clouds.for_bags
        lines.append("machines that may be asked for:")
        for one in want.clouds.for_bags:
            price = "free" if one.free else (
                f"{amount(one.price, want.clouds.currency)} for each {duration(one.atu_seconds)}"
            )  # fmt: skip
            lines.append(
                f"  up to {one.max_machines} {one.name} ({one.backend}), "
                f"{one.machine} each, {price}"
            )
    if sweep.budget is not None:
        currency = want.clouds.currency if want.clouds else "$"
        lines.append(f"budget: {amount(sweep.budget, currency)}")
    if sweep.deadline_seconds is not None:
        lines.append(f"deadline: {duration(sweep.deadline_seconds)}")
    if sweep.policy:
        lines.append(policy_in_words(sweep.policy))
    return facts, "\n".join(lines)


def _each_of(work: "Work") -> list[str]:
    """Lines on each task; of a workflow, step by step where they differ."""
    from bats.master.sweep.sweep import Sweep

    if isinstance(work, Sweep):
        return [f"each: {_each(work, work.retries)}"]
    each = [
        _each(step, 1 if retries is None else retries)
        for step, retries in zip(work.steps, work.retries, strict=True)
    ]
    if len(set(each)) == 1:
        return [f"each: {each[0]}"]
    return [f"each of {step.name}: {said}" for step, said in zip(work.steps, each, strict=True)]


def _each(sweep: "Sweep", retries: int) -> str:
    said = [str(Resources(sweep.slots, gpus=sweep.gpus))]
    if sweep.timeout_seconds:
        said.append(f"at most {duration(sweep.timeout_seconds)}")
    if sweep.memory_bytes:
        said.append(f"{show_octets(sweep.memory_bytes)} of memory, killed above that")
    if sweep.pids:
        said.append(f"at most {sweep.pids} processes and threads")
    times = "once" if retries == 1 else f"{retries} times"
    said.append(f"tried again {times}" if retries else "never tried again")
    return ", ".join(said) + " if it fails"


def must_be_decided(want: Wanted) -> None:
    """Refuse a bag without a choice where nobody can be asked and machines cost money."""
    free = want.clouds is None or all(one.free for one in want.clouds.for_bags)
    if not want.rule and not free:
        raise UsageError(
            "Machines cost money and nobody is here to choose a schedule; "
            "give --budget, --deadline, --pick or --yes."
        )
