"""`bats run`: a sweep from start to end in one process tree, with a master of its own."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bats.common.errors import BatsError, UsageError
from bats.master.cli import sweep_options
from bats.master.cli.base import Common, command, common
from bats.master.cli.base import run as run_work
from bats.master.cli.commands.submit import after_dashes
from bats.master.cli.display.bag_status import deadline_line, failure_lines
from bats.master.cli.display.follower import Display, Screen, display, follow
from bats.master.cli.display.formatting import amount, count, duration
from bats.master.cli.questions import exit_code
from bats.master.client import Client, connect
from bats.master.store.lock import FolderInUseError

if TYPE_CHECKING:
    from bats.common.offering import Offering

INTERRUPTED = 130
_OPEN = ("queued", "running")
_FAREWELL_SECONDS = 20.0  # for machines to end


@command(
    examples="""
bats run sweep.toml                                  on this computer, for nothing
bats run sweep.toml --clouds clouds.toml             shows the schedules and asks
bats run sweep.toml --clouds clouds.toml --budget 5  the fastest for that money
bats run sweep.toml --deadline 2h --yes              the cheapest in that time
bats run -p x=0:1:0.1 -p seed=1,2,3 -- python sim.py {x} {seed}
bats run 'convert {} {.}.png' ::: *.jpg               a task for each value
bats run sweep.toml --dry-run
"""
)
@sweep_options.sweep_options
@common
def run(common: Common, /, words: tuple[str, ...], **given: Any) -> int:
    """Runs a sweep: samples, offers schedules, executes the chosen one, tells what it cost.

    Without a clouds file it runs on this computer, a task on each core, and costs nothing.
    Ctrl-C stops in order and keeps what is done; a second one stops at once.
    """
    want = sweep_options.wanted(words, given, find_clouds=True, after=after_dashes(words))
    if given["dry_run"]:
        facts, said = sweep_options.dry_run(want)
        common.facts(facts, lambda: said)
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
        what = f"bats submit {words[0]}" if Path(words[0]).is_file() else "bats submit"
        raise UsageError(
            f"Another `bats run` or `bats master` ({error.holder}) is at work in {common.state}. "
            f"`{what}` gives it this sweep too, `--state FOLDER` runs it beside that one."
        ) from None


def is_person(common: Common) -> bool:
    """True if somebody sits there who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not (common.quiet or common.as_json)


class Place(NamedTuple):
    """The machines that may be had, and the currency of their prices."""

    offerings: "tuple[Offering, ...]" = ()
    currency: str = "$"


def place_of(want: sweep_options.Wanted) -> Place:
    return Place(want.clouds.offerings, want.clouds.currency) if want.clouds else Place()


Begin = Callable[[Client, str], Awaitable[int]]
"""Has the master begin a bag, or go on with one, by a rule; the bag's number."""


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
        self._shown: Display = display(quiet=common.quiet or common.as_json, pressed=self._pressed)
        self._stays = person and isinstance(self._shown, Screen)  # to be asked while it is paused
        self._paused = False
        self._answering: asyncio.Future[None] | None = None
        self._said = ""  # to a key that means nothing
        self._interrupts = 0
        self._stopping: asyncio.Task[Any] | None = None

    async def all(self) -> int:
        from bats.master.service.options import Options
        from bats.master.service.preparation import warmed

        self._log_to_file()
        offerings, currency = self._place
        options = Options(state=self._common.state, offerings=offerings, currency=currency)
        options = warmed(options, offerings)
        from bats.master.service.master import Master

        async with Master(options) as master:
            loop = asyncio.get_running_loop()
            following: asyncio.Future[Any] = asyncio.ensure_future(self._follow(master))

            def interrupted(number: int) -> None:
                self._interrupted(number, following)

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

    async def _follow(self, master: Any) -> int:
        async with connect(master.access) as client:
            self._client = client
            self._bag = await self._begun(client, self._rule)
            status = await follow(client, self._bag, self._shown, self._heard, stays=self._stays)
            if status.get("paused"):
                status = await self._leave(master)
            schedules = await client.ask("schedules", bag=self._bag)
            code = self._summary(status, schedules)
            await self._tell_of_others(client)
            return code

    async def _tell_of_others(self, client: Client) -> None:
        """Bags that another shell submitted meanwhile stand still without this master."""
        bags = (await client.ask("bags"))["bags"]
        left = [one for one in bags if one["state"] in _OPEN and one["bag"] != self._bag]
        if left:
            them = ", ".join(f"{one['bag']} ({one['name']})" for one in left)
            self._common.note(
                f"left      {them}: goes on with the next `bats run` or `bats master`"
            )

    async def _leave(self, master: Any) -> dict[str, Any]:
        """The bag stays paused, to be resumed under another master: this one's machines are ended.

        A machine that would wait for it to go on, be it paid for, would do so in vain.
        """
        if runner := master.bags.loaded.get(self._bag):
            runner.vacate("`bats run` ends while the bag is paused")
        loop = asyncio.get_running_loop()
        ends, status = loop.time() + _FAREWELL_SECONDS, {"state": ""}
        while status["state"] != "paused" and loop.time() < ends:
            status = await self._client.ask("wait", bag=self._bag, seconds=0.2)
        return status

    # --- what is asked ----------------------------------------------------------------------------

    async def _heard(self, status: Mapping[str, Any]) -> None:
        """Ask as long as it is open how to go on: something may be chosen in another shell too."""
        shown = self._shown
        self._paused = bool(status.get("paused"))
        if not self._is_asked(status):
            shown.question = ""
        elif self._answering is None or self._answering.done():
            shown.question = f"{self._said} {self._question()}".lstrip()

    def _is_asked(self, status: Mapping[str, Any]) -> bool:
        if self._paused:
            return self._stays
        may_choose = status.get("phase") == "choosing" and self._rule == "ask"
        return may_choose and self._shown.offered is not None

    def _question(self) -> str:
        if self._paused:
            return "Press r to go on, q to cancel."
        names = self._names()
        balanced = next((key for key, name in names.items() if name == names["b"]), "b")
        return f"Which? Press its number, b for balanced ({balanced}), q to cancel."

    def _pressed(self, key: str) -> None:
        if self._shown.question:  # what is typed before there is a question is no answer to it
            self._answering = asyncio.ensure_future(self._take(key))

    async def _take(self, key: str) -> None:
        self._said = ""
        try:
            if key == "q":
                self._shown.question = "Cancelling."
                reason = "cancelled while paused" if self._paused else "nothing was chosen"
                await self._client.ask("cancel", bag=self._bag, reason=reason)
            elif self._paused and key == "r":
                self._shown.question = "Going on."
                await self._client.ask("resume", bag=self._bag)
            elif name := self._names().get(key):
                self._shown.question = f"Taking {name}."
                await self._client.ask("choose", bag=self._bag, rule=name)
            else:
                self._said = f"{key} is none of them."
        except BatsError as error:  # what was asked cannot be had any more
            self._said = str(error)

    def _names(self) -> dict[str, str]:
        """The schedules on the screen by the keys that mean them."""
        facts = None if self._paused else self._shown.offered
        facts = facts or {"schedules": [], "balanced": ""}
        names = [str(one["name"]) for one in facts["schedules"]]
        return {**dict(zip("123456789", names, strict=False)), "b": facts["balanced"]}

    # --- the end ----------------------------------------------------------------------------------

    def _summary(self, status: Mapping[str, Any], schedules: Mapping[str, Any]) -> int:
        common = self._common
        code = exit_code(status)
        chosen = schedules["chosen"]
        promise = next((one for one in schedules["schedules"] if one["name"] == chosen), None)
        facts = {**status, "promise": promise}
        common.facts(facts, lambda: str(self._bag) if common.quiet else _told(facts))
        return INTERRUPTED if self._interrupts else code

    def _interrupted(self, number: int, following: "asyncio.Future[int]") -> None:
        self._interrupts += 1
        bag = getattr(self, "_bag", None)
        if self._interrupts > 1 or bag is None:
            following.cancel()
            return
        self._shown.close()
        print("bats: stopping in order; what is done is kept. Once more: at once.",
              file=sys.stderr, flush=True)  # fmt: skip
        reason = f"{signal.Signals(number).name} received"
        self._stopping = asyncio.ensure_future(self._client.ask("cancel", bag=bag, reason=reason))

    def _log_to_file(self) -> None:
        """The master's own log goes into its state folder."""
        import structlog

        from bats.common.log import set_up_logging

        folder = self._common.state
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        set_up_logging("json", "info", part="run")
        file = (folder / "run.log").open("a", encoding="utf-8")
        structlog.configure(logger_factory=structlog.WriteLoggerFactory(file))


def _told(facts: Mapping[str, Any]) -> str:
    currency = facts["currency"]
    total, done, failed = facts["total"], facts["done"], facts["failed"]
    paused = facts.get("paused")
    words = "paused" if paused else {"complete": "done"}.get(facts["state"], facts["state"])
    lines = [
        f"{words}: {done:,} of {count(total, 'task')} done"
        + (f", {failed:,} failed" if failed else "")
        + f" in {duration(facts['now'])}"
    ]
    lines += deadline_line(facts)
    if paused:
        lines.append(f"because   {paused['reason']}")
        lines.append(f"next      {paused['ways']} To go on it needs a master: `bats master`.")
    elif facts["state"] not in {"complete", "with failures"} and facts["words"]:
        lines.append(f"because   {facts['words']}")
        if facts.get("dropped"):
            lines.append(f"next      `bats resume {facts['bag']}` goes on with what is not done")
    spent = amount(facts["spent"], currency)
    cap = facts["budget"] if facts["budget"] is not None else facts["limit"]
    lines.append(f"cost      {spent}" + (f" of {amount(cap, currency)}" if cap else ""))
    lines[1:1] = failure_lines(facts)
    if promise := facts["promise"]:
        said = (
            f"promised  {amount(promise['cost'], currency)} and "
            f"{duration(promise['makespan_seconds'])} after the sample, by {promise['name']}"
        )
        if bounds := promise.get("bounds"):
            said += (
                f"; 90 %: within {amount(bounds['cost'], currency)} and "
                f"{duration(bounds['makespan_seconds'])}"
            )
        lines.append(said)
        if facts["ended_at"] is not None:
            cost = amount(max(0, facts["spent"] - facts["chosen_committed"]), currency)
            took = duration(facts["ended_at"] - facts["chosen_at"])
            lines.append(f"took      {cost} and {took} after the sample")
    lines.append(f"output    {facts['output_folder']}")
    lines.append(f"more      bats results {facts['bag']}; bats explain {facts['bag']}")
    return "\n".join(lines)
