"""`bats run`: a sweep from start to end in one process tree, with a master of its own."""

import sys
import time
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bats.common.errors import UnreachableError, UsageError
from bats.deploy.spare_keeper import SpareKeeper, taken
from bats.master.cli import sweep_options
from bats.master.cli.base import Common, command, common
from bats.master.cli.base import run as run_work
from bats.master.cli.beside import Beside
from bats.master.cli.display.formatting import count
from bats.master.store.lock import FolderInUseError

if TYPE_CHECKING:
    from bats.master.api import replies
    from bats.master.client import Client

_AGAIN_SECONDS = 0.2
_A_CLIENT: Final = ("bats.common.log", "bats.master.cli.own_master")  # the log before all that logs
_A_MASTER: Final = ("bats.master.queries.bags", "bats.master.service.master")
"""The modules of a master of this process, in parts that take about as long. A child that reads
begins before them, not earlier: until then the other core is the spare keeper's."""


@command(
    examples="""
bats run sweep.toml                                  on this computer, for nothing
bats run sweep.toml --clouds clouds.toml             shows the schedules and asks
bats run sweep.toml --clouds clouds.toml --budget 5  the fastest for that money
bats run sweep.toml --deadline 2h --yes              the cheapest in that time
bats run -p x=0:1:0.1 -p seed=1,2,3 -- python sim.py {x} {seed}
bats run 'convert {} {.}.png' ::: *.jpg               a task for each value
bats run -k 'grep -c x {}' ::: *.txt | sort -n       prints what they wrote, in order
bats run sweep.toml --dry-run
"""
)
@click.option(
    "-k",
    "--keep-order",
    is_flag=True,
    help="Print what tasks write, in their order; words go to standard error.",
)
@sweep_options.sweep_options
@common
def run(common: Common, /, words: tuple[str, ...], **given: Any) -> int:
    """Runs a sweep: samples, offers schedules, executes the chosen one, tells what it cost.

    Without a clouds file it runs on this computer, a task on each core, and costs nothing.
    Ctrl-C stops in order and keeps what is done; a second one stops at once.
    """
    common.aside = given["keep_order"]
    if common.aside and common.as_json:
        raise UsageError("-k prints what tasks wrote, --json facts; give one of them.")
    if given["dry_run"]:
        facts, said = sweep_options.dry_run(_wanted(words, given))
        common.facts(facts, lambda: said, sweep_options.DryRun)
        return 0
    spare = taken((sys.executable, "-m", "bats.worker"))
    try:
        return _run(common, words, _read(words, given), spare)
    finally:
        spare.close()


def _run(
    common: Common, words: tuple[str, ...], want: sweep_options.Wanted, spare: SpareKeeper
) -> int:
    from bats.master.cli.own_master import Run, is_person, place_of

    person = is_person(common)
    if not person:
        sweep_options.must_be_decided(want)

    async def begun(client: "Client", rule: str) -> int:
        submitted = await sweep_options.submit(client, want, rule=rule)
        name, tasks = submitted["name"], count(submitted["tasks"], "task")
        common.note(f"bag {submitted['bag']} ({name}): {tasks}")
        return int(submitted["bag"])

    work = Run(common, place_of(want), want.rule, begun, person=person, spare=spare)
    try:
        return run_work(work.all())
    except FolderInUseError as error:
        other = f"Another `bats run` or `bats master` ({error.holder})"
        there = f"{other} is at work in {common.state}."
        if person and click.confirm(f"bats: {there} Submit this to it?", default=True, err=True):
            return _submitted_there(common, want)
        what = f"bats submit {words[0]}" if Path(words[0]).is_file() else "bats submit"
        raise UsageError(
            f"{there} `{what}` gives it this sweep too, `--state FOLDER` runs it beside that one."
        ) from None


def _wanted(words: tuple[str, ...], given: Mapping[str, Any]) -> sweep_options.Wanted:
    after = sweep_options.after_dashes(words)
    return sweep_options.wanted(words, given, find_clouds=True, after=after)


def _read(words: tuple[str, ...], given: Mapping[str, Any]) -> sweep_options.Wanted:
    """The wishes of options and files. While a child reads them, this process loads a master.

    Each takes a third of the time to the first task. Standard input is read once, by this process.
    """
    if "-" in words[:1]:
        return _wanted(words, given)
    for module in _A_CLIENT:
        import_module(module)
    reading = Beside(partial(_wanted, words, given))
    for module in _A_MASTER:
        if reading.failed():  # who made a slip is told at once
            break
        import_module(module)
    return reading()


def _submitted_there(common: Common, want: sweep_options.Wanted) -> int:
    """The exit code of a bag that another `bats run` or master of this folder has been given.

    A `bats run` ends with its own bag: what then is left goes on under a master of this process.
    """
    from bats.master.cli.access import reach
    from bats.master.cli.display.bag_status import in_full
    from bats.master.cli.display.follower import display, follow
    from bats.master.cli.own_master import FAREWELL_SECONDS, Run, place_of
    from bats.master.cli.questions import exit_code

    free = all(one.free for one in place_of(want).offerings)
    rule = want.rule or ("fastest" if free else "ask")
    numbers = []

    async def submitted() -> "replies.Status":
        async with reach(common) as client:
            numbers.append((await sweep_options.submit(client, want, rule=rule))["bag"])
            return await follow(client, numbers[0], display(quiet=False), stays=True)

    async def begun(client: "Client", rule: str) -> int:
        del client, rule  # it goes on with any master, as it was submitted
        return int(numbers[0])

    try:
        status = run_work(submitted())
    except UnreachableError:
        if not numbers:
            raise
        common.note("The other has ended; going on here.")
        until = time.monotonic() + FAREWELL_SECONDS
        while True:
            try:
                return run_work(Run(common, place_of(want), want.rule, begun, person=True).all())
            except FolderInUseError:
                if time.monotonic() > until:
                    raise
                time.sleep(_AGAIN_SECONDS)
    common.note(in_full(status))
    return exit_code(status)
