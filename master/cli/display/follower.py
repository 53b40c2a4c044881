"""Following a bag to its end: asks the master for news and hands them to a display."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from bats.common.errors import UsageError
from bats.common.escapes import harmless, harmless_facts
from bats.common.records import dataclass
from bats.master.api import replies
from bats.master.api.asking import ask
from bats.master.api.requests import AwaitNews, GetDecisions, GetFailures, GetSchedules
from bats.master.cli.display.bag_status import eta_words
from bats.master.cli.display.keyboard import Keys
from bats.master.cli.display.offers import offers
from bats.master.cli.display.terminal import drawn_on
from bats.master.client import Client

if TYPE_CHECKING:
    from rich.live import Live

_LONGEST_SECONDS: Final = 10.0  # without news; then the clock and the ETA are shown anew
_LIVE_SECONDS: Final = 1.0
_RESTING_SECONDS: Final = 0.5  # once paused: that what still runs has ended is no news
_LEAST_SECONDS: Final = 0.1  # between two looks, however much happens
_STEP: Final = 0.1  # of all tasks: worth a line
_LAST_SECONDS: Final = 10.0  # for schedules that are still being foretold when all is over
_CALM_SECONDS: Final = 2.0  # between two looks at failures
_RECENT: Final = 5  # decisions shown


class Display(Protocol):
    look_seconds: float
    question: str  # stands below the schedules while somebody is asked
    offered: replies.Schedules | None  # the schedules that are shown

    def show(self, status: replies.Status, decisions: Sequence[replies.Decision]) -> None: ...

    def offer(self, offered: replies.Schedules) -> None:
        """The offer to choose from now, or the one that was chosen of."""

    def close(self) -> None: ...


@dataclass(slots=True)
class Told:
    """The part of a bag that somebody who follows it has seen."""

    decisions: int = 0


async def follow(
    client: Client,
    bag: int,
    display: Display,
    heard: Callable[[replies.Status], Awaitable[None]] | None = None,
    *,
    stays: bool = False,
    told: Told | None = None,
) -> replies.Status:
    """The last status, once the bag is over. `heard` is called with each on the way.

    Who follows it under one master after another hands in what was `told`. Only somebody who can
    act `stays` with a bag that is paused: nothing more comes by itself.
    """
    told = told or Told()
    seen, before, patience = 0, "", display.look_seconds
    offers = _Offers(client, bag, display)
    failures = _Failures(client)
    loop = asyncio.get_running_loop()
    try:
        while True:
            looked = loop.time()
            news = await ask(client, AwaitNews(bag, seen, patience))
            status, seen = news, news["seen"]
            patience = display.look_seconds
            if status.get("paused") and not stays:
                patience = min(patience, _RESTING_SECONDS)
            decisions = (await ask(client, GetDecisions(bag, told.decisions)))["decisions"]
            told.decisions += len(decisions)
            if _worth_a_look(before, before := status.get("phase", "")):
                offers.look()
            await offers.show(_LAST_SECONDS if status["over"] else _LEAST_SECONDS)
            status["failures"] = await failures.of(status)
            if heard is not None and not status["over"]:
                await heard(status)
            display.show(status, decisions)
            if not status["over"]:
                await asyncio.sleep(max(0.0, looked + _LEAST_SECONDS - loop.time()))
            if status["over"] or (rests(status) and not stays):
                return status
    finally:
        offers.close()
        display.close()


def rests(status: replies.Status) -> bool:
    """True if it is paused and what still ran has ended; of what hangs no end is waited for."""
    paused = status.get("paused")
    if not paused:
        return False
    return not status["running"] or paused["task"] is None


def _worth_a_look(before: str, phase: str) -> bool:
    """Schedules are news while somebody may choose, and once when one is chosen."""
    return phase == "choosing" or (phase == "executing" and before in {"sampling", "choosing"})


class _Offers:
    """Asks for the schedules beside everything else: to foretell what they come to takes time."""

    def __init__(self, client: Client, bag: int, display: Display) -> None:
        self._client = client
        self._bag = bag
        self._display = display
        self._asked: asyncio.Future[replies.Schedules] | None = None
        self._again = False

    def look(self) -> None:
        if self._asked is None:
            self._asked = asyncio.ensure_future(ask(self._client, GetSchedules(self._bag)))
        else:
            self._again = True  # the answer may be of before

    async def show(self, seconds: float) -> None:
        """Hand over what has been answered, or is in so many seconds."""
        until = asyncio.get_running_loop().time() + seconds
        while self._asked is not None:
            left = max(0.0, until - asyncio.get_running_loop().time())
            await asyncio.wait([self._asked], timeout=left)
            if not self._asked.done():
                return
            if self._asked.exception() is None:
                offered = self._asked.result()
                if any(one["cost"] for one in offered["schedules"]):
                    self._display.offer(offered)
            self._asked = None
            if self._again:
                self._again = False
                self.look()

    def close(self) -> None:
        if self._asked is not None:
            self._asked.cancel()


class _Failures:
    """Asks now and then why tasks failed, as long as more do."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: list[replies.Failure] = []
        self._failed = 0
        self._at = -_CALM_SECONDS

    async def of(self, status: replies.Status) -> list[replies.Failure]:
        failed, now = status.get("failed", 0), asyncio.get_running_loop().time()
        due = status["over"] or status.get("paused") or now - self._at >= _CALM_SECONDS
        if failed != self._failed and due:
            try:
                found = (await ask(self._client, GetFailures(status["bag"])))["failures"]
            except UsageError:  # a master of an older release
                found = []
            self._known, self._failed, self._at = found, failed, now
        return self._known


class Lines:
    """Plain lines: decisions as they are made, and progress at each tenth of the bag."""

    look_seconds = _LONGEST_SECONDS

    def __init__(self, out: TextIO | None = None) -> None:
        self.question = ""
        self._out = out or sys.stdout
        self._tenth = 0
        self._phase = ""
        self.offered: replies.Schedules | None = None

    def show(self, status: replies.Status, decisions: Sequence[replies.Decision]) -> None:
        for one in decisions:
            self._say(one["time"], one["words"])
        if status["over"] or status.get("phase") == "ending":  # the decision has said so
            return
        total, done = status["total"], status.get("done", 0)
        phase = status.get("phase", status["state"])
        ended = done + status.get("failed", 0)
        tenth = int(ended / total / _STEP) if total else 0
        if tenth > self._tenth or (phase != self._phase and phase in {"sampling", "executing"}):
            self._tenth, self._phase = tenth, phase
            said = f"{phase}: {done:,} of {total:,} tasks done"
            said += " so far" if status.get("open") else ""
            if status.get("failed"):
                said += f", {status['failed']:,} failed"
            if eta := eta_words(status):
                said += f", {eta}"
            self._say(status.get("now", 0.0), said)

    def offer(self, offered: replies.Schedules) -> None:
        """Tell an offer once, and again when mixes change: prices and times always waver."""
        before, self.offered = self.offered, offered
        if before is None or (_mixes(before) != _mixes(offered) and offered["phase"] == "choosing"):
            print(offers(offered), *filter(None, [self.question]),
                  sep="\n", file=self._out, flush=True)  # fmt: skip

    def close(self) -> None:
        pass

    def _say(self, seconds: float, words: str) -> None:
        print(f"{seconds:8.1f} s  {words}", file=self._out, flush=True)


def _mixes(offered: replies.Schedules) -> list[Any]:
    return [one["mix"] for one in offered["schedules"]]


def _choice(offered: replies.Schedules) -> str | None:
    """The choice; None while there is none."""
    return None if offered["phase"] == "choosing" else offered["chosen"]


class Silence:
    """Shows nothing."""

    look_seconds = _LONGEST_SECONDS
    question = ""
    offered: replies.Schedules | None = None

    def show(self, status: replies.Status, decisions: Sequence[replies.Decision]) -> None:
        pass

    def offer(self, offered: replies.Schedules) -> None:
        pass

    def close(self) -> None:
        pass


class Screen:
    """One live picture, redrawn every second."""

    look_seconds = _LIVE_SECONDS

    def __init__(self, pressed: Callable[[str], None] = lambda _: None) -> None:
        from rich.console import Console

        self.question = ""
        self._keys = Keys(pressed)  # also lest what is typed is written into the picture
        self._console = Console(file=drawn_on(), highlight=False)
        self._live: Live | None = None
        self._recent: list[replies.Decision] = []
        self.offered: replies.Schedules | None = None

    def show(self, status: replies.Status, decisions: Sequence[replies.Decision]) -> None:
        from bats.master.cli.display.live_view import choice, picture

        status = harmless_facts(status)
        self._recent = [*self._recent, *harmless_facts(decisions)][-_RECENT:]
        size = self._console.size
        if self.offered is not None and status.get("phase") == "choosing":
            width, height = size.width, size.height
            drawn = choice(
                status, harmless_facts(self.offered), self.question, width=width, height=height
            )
        else:
            drawn = picture(status, self._recent, self.question, width=size.width)
        self._keys.start()
        self._begun().update(drawn, refresh=True)

    def offer(self, offered: replies.Schedules) -> None:
        """Show the offer while somebody may choose; what was chosen of stays on the screen."""
        before, self.offered = self.offered, offered
        chosen = _choice(offered)
        if chosen is not None and (before is None or chosen != _choice(before)):
            self._erase()
            said = harmless(offers(offered, width=self._console.width))
            self._console.print(said, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Make room for other words; the next `show` begins anew."""
        self._erase()
        self._keys.stop()

    def _erase(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _begun(self) -> "Live":
        """A new one each time: it would draw over what was written since it was stopped."""
        if self._live is None:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self._live


def display(pressed: Callable[[str], None] = lambda _: None, *, quiet: bool) -> Display:
    """`pressed` gets the keys of one who looks at a screen."""
    if quiet:
        return Silence()
    drawable = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return Screen(pressed) if drawable else Lines()
