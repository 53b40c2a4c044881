"""A master of this process's own, for one bag, from its beginning to its end."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bats.common.errors import UsageError
from bats.master.api import replies
from bats.master.api.asking import ask
from bats.master.api.requests import AwaitNews, GetBags, GetSchedules, GetStatus
from bats.master.cli.base import Common
from bats.master.cli.dialogue import Dialogue
from bats.master.cli.display.follower import display, follow
from bats.master.cli.display.in_order import print_in_order
from bats.master.cli.display.last_screen import Ended, last_screen
from bats.master.cli.questions import exit_code
from bats.master.client import Client, connect

if TYPE_CHECKING:
    from bats.common.offering import Offering
    from bats.deploy.spare_keeper import SpareKeeper
    from bats.master.cli.sweep_options import Wanted

INTERRUPTED = 130
FAREWELL_SECONDS = 20.0  # for machines to end
_OPEN = ("queued", "running")


def is_person(common: Common) -> bool:
    """True if somebody sits there who can be asked."""
    silent = common.quiet or common.as_json or common.aside
    return sys.stdin.isatty() and sys.stdout.isatty() and not silent


class Place(NamedTuple):
    """The machines that may be had, and the currency of their prices."""

    offerings: "tuple[Offering, ...]" = ()
    currency: str = "$"


def place_of(want: "Wanted") -> Place:
    if want.clouds is None:
        return Place()
    if want.clouds.pools:
        raise UsageError(
            f"{want.clouds.path} has pools, which outlive a bag, and a master that `bats run` "
            "starts ends with its bag: start `bats master`, and `bats submit` what it is to run."
        )
    return Place(want.clouds.offerings, want.clouds.currency)


Begin = Callable[[Client, str], Awaitable[int]]
"""Has the master begin a bag, or go on with one, by a rule; the bag's number."""


class Run:
    """A master of this process's own, for one bag, from its beginning to its end."""

    def __init__(
        self,
        common: Common,
        place: Place,
        rule: str,
        begun: Begin,
        *,
        person: bool,
        spare: "SpareKeeper | None" = None,
    ) -> None:
        self._common = common
        self._place = place
        self._begun = begun
        free = all(one.free for one in place.offerings)
        self._rule = rule or ("ask" if person and not free else "fastest")
        self._person = person
        self._spare = spare
        self._interrupts = 0

    async def all(self) -> int:
        self._log_to_file()
        from bats.master.service.options import Options
        from bats.master.service.preparation import warmed

        offerings, currency = self._place
        options = Options(state=self._common.state, offerings=offerings, currency=currency)
        options = warmed(options, offerings, self._spare)
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
        ends = loop.time() + FAREWELL_SECONDS
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
