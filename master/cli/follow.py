"""Following a bag to its end: asks the master for news and hands them to a display."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TextIO

from bats.master.cli.words import duration
from bats.master.client import Client

Facts = Mapping[str, Any]

_LONGEST_SECONDS: Final = 10.0  # without news; then the clock and the ETA are shown anew
_LIVE_SECONDS: Final = 1.0
_LEAST_SECONDS: Final = 0.1  # between two looks, however much happens
_STEP: Final = 0.1  # of all tasks: worth a line


class Display(Protocol):
    look_seconds: float

    def show(self, status: Facts, decisions: list[Facts]) -> None: ...

    def close(self) -> None: ...


async def follow(
    client: Client,
    bag: int,
    display: Display,
    heard: Callable[[Facts], Awaitable[None]] | None = None,
) -> dict[str, Any]:
    """The last status, once the bag is over. `heard` is called with each on the way."""
    seen, told = 0, 0
    loop = asyncio.get_running_loop()
    status: dict[str, Any] = {}
    try:
        while not status.get("over"):
            looked = loop.time()
            status = await client.ask("wait", bag=bag, seen=seen, seconds=display.look_seconds)
            seen = status["seen"]
            news = await client.ask("decisions", bag=bag, since=told)
            told += len(news["decisions"])
            display.show(status, news["decisions"])
            if heard is not None and not status["over"]:
                await heard(status)
            if not status["over"]:
                await asyncio.sleep(max(0.0, looked + _LEAST_SECONDS - loop.time()))
    finally:
        display.close()
    return status


class Lines:
    """Plain lines: decisions as they are made, and progress at each tenth of the bag."""

    look_seconds = _LONGEST_SECONDS

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._tenth = 0
        self._phase = ""

    def show(self, status: Facts, decisions: list[Facts]) -> None:
        for one in decisions:
            self._say(one["time"], one["words"])
        total, done = status["total"], status.get("done", 0)
        phase = status.get("phase", status["state"])
        ended = done + status.get("failed", 0)
        tenth = int(ended / total / _STEP) if total else 0
        if tenth > self._tenth or (phase != self._phase and phase in {"sampling", "executing"}):
            self._tenth, self._phase = tenth, phase
            said = f"{phase}: {done:,} of {total:,} tasks done"
            if status.get("failed"):
                said += f", {status['failed']:,} failed"
            if status.get("eta_seconds") is not None:
                said += f", about {duration(status['eta_seconds'])} to go"
            self._say(status.get("now", 0.0), said)

    def close(self) -> None:
        pass

    def _say(self, seconds: float, words: str) -> None:
        print(f"{seconds:8.1f} s  {words}", file=self._out, flush=True)


class Silence:
    """Shows nothing."""

    look_seconds = _LONGEST_SECONDS

    def show(self, status: Facts, decisions: list[Facts]) -> None:
        pass

    def close(self) -> None:
        pass


class Screen:
    """One live picture, redrawn every second; decisions scroll by above it."""

    look_seconds = _LIVE_SECONDS

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._recent: list[Facts] = []

    def show(self, status: Facts, decisions: list[Facts]) -> None:
        from bats.master.cli.picture import picture

        self._recent = [*self._recent, *decisions][-5:]
        if not self._live.is_started:
            self._live.start()
        self._live.update(picture(status, self._recent), refresh=True)

    def close(self) -> None:
        """Make room for other words; the next `show` begins anew."""
        self._live.stop()


def display(*, quiet: bool) -> Display:
    if quiet:
        return Silence()
    return Screen() if sys.stdout.isatty() else Lines()
