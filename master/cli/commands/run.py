"""`bats run`: a sweep from start to end in one process tree, with a master of its own."""

import asyncio
import signal
import sys
from collections.abc import Mapping
from typing import Any

from bats.common.errors import BatsError
from bats.master.cli import sweep_options
from bats.master.cli.base import Common, command, common
from bats.master.cli.base import run as run_work
from bats.master.cli.commands.submit import after_dashes
from bats.master.cli.display.bag_status import deadline_line
from bats.master.cli.display.follower import Display, Screen, display, follow
from bats.master.cli.display.formatting import amount, count, duration
from bats.master.cli.questions import exit_code
from bats.master.client import connect

INTERRUPTED = 130
_FAREWELL_SECONDS = 20.0  # for machines to end


@command(
    examples="""
bats run sweep.toml                                  on this computer, for nothing
bats run sweep.toml --clouds clouds.toml             shows the schedules and asks
bats run sweep.toml --clouds clouds.toml --budget 5  the fastest for that money
bats run sweep.toml --deadline 2h --yes              the cheapest in that time
bats run -p x=0:1:0.1 -p seed=1,2,3 -- python sim.py {x} {seed}
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
    person = sys.stdin.isatty() and sys.stdout.isatty() and not (common.quiet or common.as_json)
    if not person:
        sweep_options.must_be_decided(want)
    return run_work(_Run(common, want, person=person).all())


class _Run:
    def __init__(self, common: Common, want: sweep_options.Wanted, *, person: bool) -> None:
        asks = person and not want.rule
        self._common = common
        self._want = want
        free = want.clouds is None or all(one.free for one in want.clouds.offerings)
        self._rule = want.rule or ("ask" if asks and not free else "fastest")
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
        options = Options(state=self._common.state)
        if self._want.clouds is not None:
            options = warmed(options, self._want.clouds.offerings)
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
            submitted = await sweep_options.submit(client, self._want, rule=self._rule)
            self._bag = submitted["bag"]
            self._common.note(
                f"bag {self._bag} ({submitted['name']}): {count(submitted['tasks'], 'task')}"
            )
            status = await follow(client, self._bag, self._shown, self._heard, stays=self._stays)
            if status.get("paused"):
                status = await self._leave(master)
            schedules = await client.ask("schedules", bag=self._bag)
            return self._summary(status, schedules)

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
    spent = amount(facts["spent"], currency)
    cap = facts["budget"] if facts["budget"] is not None else facts["limit"]
    lines.append(f"cost      {spent}" + (f" of {amount(cap, currency)}" if cap else ""))
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
