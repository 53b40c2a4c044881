"""`bats run`: a sweep from start to end in one process tree, with a master of its own."""

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bats.common.errors import UnreachableError, UsageError
from bats.master.api import replies
from bats.master.api.asking import ask
from bats.master.api.requests import (
    AwaitNews,
    GetBags,
    GetSchedules,
    GetStatus,
)
from bats.master.cli import sweep_options
from bats.master.cli.access import reach
from bats.master.cli.base import Common, command, common
from bats.master.cli.base import run as run_work
from bats.master.cli.beside import beside
from bats.master.cli.commands.submit import after_dashes
from bats.master.cli.dialogue import Dialogue
from bats.master.cli.display.bag_status import in_full
from bats.master.cli.display.follower import display, follow
from bats.master.cli.display.formatting import count
from bats.master.cli.display.in_order import print_in_order
from bats.master.cli.display.last_screen import last_screen
from bats.master.cli.questions import exit_code
from bats.master.client import Client, connect
from bats.master.store.lock import FolderInUseError

if TYPE_CHECKING:
    from bats.common.offering import Offering

INTERRUPTED = 130
_OPEN = ("queued", "running")
_FAREWELL_SECONDS = 20.0  # for machines to end
_AGAIN_SECONDS = 0.2


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
    want = _read(words, given)
    if given["dry_run"]:
        facts, said = sweep_options.dry_run(want)
        common.facts(facts, lambda: said, sweep_options.DryRun)
        return 0
    person = is_person(common)
    if not person:
        sweep_options.must_be_decided(want)

    async def begun(client: Client, rule: str) -> int:
        submitted = await sweep_options.submit(client, want, rule=rule)
        name, tasks = submitted["name"], count(submitted["tasks"], "task")
        common.note(f"bag {submitted['bag']} ({name}): {tasks}")
        return int(submitted["bag"])

    try:
        return run_work(Run(common, place_of(want), want.rule, begun, person=person).all())
    except FolderInUseError as error:
        other = f"Another `bats run` or `bats master` ({error.holder})"
        there = f"{other} is at work in {common.state}."
        if person and click.confirm(f"bats: {there} Submit this to it?", default=True, err=True):
            return _submitted_there(common, want)
        what = f"bats submit {words[0]}" if Path(words[0]).is_file() else "bats submit"
        raise UsageError(
            f"{there} `{what}` gives it this sweep too, `--state FOLDER` runs it beside that one."
        ) from None


def _read(words: tuple[str, ...], given: Mapping[str, Any]) -> sweep_options.Wanted:
    """The wishes of options and files. While a child reads them, this process loads a scheduler.

    Each takes a fifth of the time to the first task. Standard input is read once, by this process.
    """
    read = partial(sweep_options.wanted, words, given, find_clouds=True, after=after_dashes(words))
    if given["dry_run"] or "-" in words[:1]:
        return read()
    reading = beside(read)
    import_module("bats.common.log")  # before all that logs
    import_module("bats.master.brain.engine")
    return reading()


def _submitted_there(common: Common, want: sweep_options.Wanted) -> int:
    """The exit code of a bag that another `bats run` or master of this folder has been given.

    A `bats run` ends with its own bag: what then is left goes on under a master of this process.
    """
    free = all(one.free for one in place_of(want).offerings)
    rule = want.rule or ("fastest" if free else "ask")
    numbers = []

    async def submitted() -> replies.Status:
        async with reach(common) as client:
            numbers.append((await sweep_options.submit(client, want, rule=rule))["bag"])
            return await follow(client, numbers[0], display(quiet=False), stays=True)

    async def begun(client: Client, rule: str) -> int:
        del client, rule  # it goes on with any master, as it was submitted
        return int(numbers[0])

    try:
        status = run_work(submitted())
    except UnreachableError:
        if not numbers:
            raise
        common.note("The other has ended; going on here.")
        until = time.monotonic() + _FAREWELL_SECONDS
        while True:
            try:
                return run_work(Run(common, place_of(want), want.rule, begun, person=True).all())
            except FolderInUseError:
                if time.monotonic() > until:
                    raise
                time.sleep(_AGAIN_SECONDS)
    common.note(in_full(status))
    return exit_code(status)


def is_person(common: Common) -> bool:
    """True if somebody sits there who can be asked."""
    silent = common.quiet or common.as_json or common.aside
    return sys.stdin.isatty() and sys.stdout.isatty() and not silent


class Place(NamedTuple):
    """The machines that may be had, and the currency of their prices."""

    offerings: "tuple[Offering, ...]" = ()
    currency: str = "$"


def place_of(want: sweep_options.Wanted) -> Place:
    return Place(want.clouds.offerings, want.clouds.currency) if want.clouds else Place()


Begin = Callable[[Client, str], Awaitable[int]]
"""Has the master begin a bag, or go on with one, by a rule; the bag's number."""


class Ended(replies.Status):
    promise: replies.Schedule | None  # what its schedule had foretold


class Run:
    """A master of this process's own, for one bag, from its beginning to its end."""

    def __init__(
        self, common: Common, place: Place, rule: str, begun: Begin, *, person: bool
    ) -> None:
        self._common = common
        self._place = place
        self._begun = begun
        free = all(one.free for one in place.offerings)
        self._rule = rule or ("ask" if person and not free else "fastest")
        self._person = person
        self._interrupts = 0

    async def all(self) -> int:
        self._log_to_file()
        from bats.master.service.options import Options
        from bats.master.service.preparation import warmed

        offerings, currency = self._place
        options = Options(state=self._common.state, offerings=offerings, currency=currency)
        options = warmed(options, offerings)
        from bats.master.service.master import serving

        async with serving(options) as master:
            loop = asyncio.get_running_loop()
            about: asyncio.Future[Dialogue] = loop.create_future()
            following: asyncio.Future[Any] = asyncio.ensure_future(self._follow(master, about))

            def interrupted(number: int) -> None:
                self._interrupted(number, following, about)

            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, interrupted, number)
            ended: asyncio.Future[Any] = asyncio.shield(master.ended)  # its store may fail
            try:
                await asyncio.wait([following, ended], return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    following.cancel()
                    await ended
                return int(await following)
            except asyncio.CancelledError:
                await master.fleet.abandon()
                print("bats: stopped at once.", file=sys.stderr)
                return INTERRUPTED
            finally:
                ended.cancel()
                for number in (signal.SIGINT, signal.SIGTERM):
                    loop.remove_signal_handler(number)

    async def _follow(self, master: Any, about: "asyncio.Future[Dialogue]") -> int:
        common = self._common
        quiet = common.quiet or common.as_json or common.aside
        async with connect(master.access) as client:
            bag = await self._begun(client, self._rule)
            show = partial(display, quiet=quiet)
            dialogue = Dialogue(client, bag, self._rule, show, person=self._person)
            about.set_result(dialogue)
            status = await self._followed(client, dialogue)
            if status.get("paused"):
                status = await self._leave(master, client, bag)
            schedules = await ask(client, GetSchedules(bag))
            code = self._summary(status, schedules)
            await self._tell_of_others(client, bag)
            return code

    async def _followed(self, client: Client, dialogue: Dialogue) -> replies.Status:
        """The status in the end; what tasks wrote is printed meanwhile, if that is wanted."""
        bag = dialogue.bag
        following = follow(client, bag, dialogue.shown, dialogue.heard, stays=dialogue.stays)
        if not self._common.aside:
            return await following
        tasks = (await ask(client, GetStatus(bag)))["total"]
        printing = asyncio.ensure_future(print_in_order(client, bag, tasks))
        try:
            status = await following
            if status["over"]:
                await printing
        finally:
            printing.cancel()
        return status

    async def _tell_of_others(self, client: Client, bag: int) -> None:
        """Bags that another shell submitted meanwhile stand still without this master."""
        bags = (await ask(client, GetBags()))["bags"]
        left = [one for one in bags if one["state"] in _OPEN and one["bag"] != bag]
        if left:
            them = ", ".join(f"{one['bag']} ({one['name']})" for one in left)
            self._common.note(
                f"left      {them}: goes on with the next `bats run` or `bats master`"
            )

    async def _leave(self, master: Any, client: Client, bag: int) -> replies.Status:
        """The bag stays paused, to be resumed under another master: this one's machines are ended.

        A machine that would wait for it to go on, be it paid for, would do so in vain.
        """
        if runner := master.bags.loaded.get(bag):
            runner.vacate("`bats run` ends while the bag is paused")
        loop = asyncio.get_running_loop()
        ends = loop.time() + _FAREWELL_SECONDS
        while True:
            status = await ask(client, AwaitNews(bag, seconds=0.2))
            if status["state"] == "paused" or loop.time() >= ends:
                return status

    # --- the end ----------------------------------------------------------------------------------

    def _summary(self, status: replies.Status, schedules: replies.Schedules) -> int:
        common = self._common
        code = exit_code(status)
        chosen = schedules["chosen"]
        promise = next((one for one in schedules["schedules"] if one["name"] == chosen), None)
        facts: Ended = {**status, "promise": promise}
        common.facts(
            facts, lambda: str(status["bag"]) if common.quiet else last_screen(facts), Ended
        )
        return INTERRUPTED if self._interrupts else code

    def _interrupted(
        self, number: int, following: "asyncio.Future[int]", about: "asyncio.Future[Dialogue]"
    ) -> None:
        self._interrupts += 1
        if self._interrupts > 1 or not about.done():
            following.cancel()
            return
        about.result().interrupted(number)
        print("bats: stopping in order; what is done is kept. Once more: at once.",
              file=sys.stderr, flush=True)  # fmt: skip

    def _log_to_file(self) -> None:
        """The master's own log goes into its state folder."""
        from bats.common.log import set_up_logging  # first, for it keeps structlog light

        import structlog  # isort: skip

        folder = self._common.state
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        set_up_logging("json", "info", part="run")
        file = (folder / "run.log").open("a", encoding="utf-8")
        structlog.configure(logger_factory=structlog.WriteLoggerFactory(file))
