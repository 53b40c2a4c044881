"""Runs one bag for real: a master in this process, worker processes of this computer for machines.

Each run has a master and a state folder of its own, so that nothing is left over from the last one.
A computer that stands still (a virtual one may, for seconds) stops master and machines alike while
the bill runs on, as no cloud does. A run in which that may have cost an ATU is done again.
"""

import asyncio
import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgpack
import structlog

from bats.common.errors import UnreachableError
from bats.common.messages import BagId, Result
from bats.common.money import as_decimal
from bats.common.offering import Offering
from bats.deploy.host.roster import Roster
from bats.deploy.local import Local
from bats.master.api.requests import GetLog
from bats.master.brain.protocol.events import Event
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.cli.display.formatting import count
from bats.master.client import Bag, connect
from bats.master.queries.output import output
from bats.master.report.account import Account, account
from bats.master.service.options import Options
from bats.master.service.preparation import warmed
from bats.master.store.reader import Reader
from bats.master.sweep.sweep import Sweep

Schedules = list[dict[str, Any]]
Choose = Callable[[Schedules], str]
"""A user who is shown the schedules and names one."""

_OF_THE_BAG: Final = ("tasks", "offerings", "budget", "deadline_seconds", "rule", "known")
_LOG: Final = "run.log"
Run = TypeVar("Run")

_LOOK_SECONDS: Final = 0.02
_MOST_ASKING: Final = 5


@dataclass(frozen=True, slots=True)
class Live:
    """All that is known of a run when it is over."""

    account: Account
    journal: list[tuple[float, Event]]
    tasks: list[Result]
    printed: list[bytes]  # what each task wrote to its standard output
    schedules: Schedules  # as offered when the choice was made
    chosen: str
    stood_still: list[float]  # seconds: for how long the computer did, in each run thrown away

    @property
    def settings(self) -> Settings:
        return self.account.bag.settings

    @property
    def complete(self) -> bool:
        return self.account.view.done == self.account.view.total

    @property
    def seconds(self) -> float:
        """Until the last task was done."""
        seen = self.account.view
        return (seen.ended_at or seen.now) - seen.began_at

    @property
    def dollars(self) -> float:
        return float(as_decimal(self.account.view.spent))


def fastest(_: Schedules) -> str:
    return "fastest"


def run(sweep: Sweep, settings: Settings, choose: Choose = fastest) -> Live:
    """Submit, follow to the end, read what the store has of it.

    Settings with the rule ASK wait for the offers, of which `choose` names one.
    """
    return undisturbed(
        lambda stood_still: asyncio.run(_run(sweep, settings, choose, stood_still)),
        settings.offerings,
    )


def undisturbed(
    once: Callable[[list[float]], Run | None], offerings: Iterable[Offering], again: int = 3
) -> Run:
    """The result of `once`, which is told how long all stood still in runs thrown away."""
    harmless = min(one.boundary_seconds for one in offerings) / 2
    stood_still: list[float] = []
    while True:
        with Stillness() as stillness:
            ran = once(stood_still)
        if ran is not None and (stillness.longest <= harmless or len(stood_still) == again):
            return ran
        if stillness.longest <= harmless:
            raise UnreachableError("The master of the experiment did not answer.")
        stood_still.append(stillness.longest)


def again(runs: Iterable[Live]) -> str:
    """A sentence about runs that were thrown away; "" if none were."""
    still = [seconds for run in runs for seconds in run.stood_still]
    if not still:
        return ""
    return (
        f" Thrown away and done again, because the whole computer stood still for up to "
        f"{max(still):.1f} s: {count(len(still), 'run')}."
    )


class Stillness:
    """The longest time that nothing at all ran on this computer, this thread included."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        last = time.monotonic()
        while not self._end.wait(_LOOK_SECONDS):
            now = time.monotonic()
            self.longest = max(self.longest, now - last - _LOOK_SECONDS)
            last = now


async def _run(
    sweep: Sweep, settings: Settings, choose: Choose, stood_still: list[float]
) -> Live | None:
    """None when the master was not heard of any more, as happens when all stands still."""
    with state_folder() as state, _logged_in(state):
        options = warmed(Options(state=state), settings.offerings)
        for backend in options.backends.values():  # a provider's machines are there to be had
            assert isinstance(backend, Local)
            await asyncio.to_thread(backend.warm)
        from bats.master.service.master import serving

        async with serving(options) as master, connect(master.access) as client:
            bag = await client.submit(
                sweep,
                offerings=settings.offerings,
                rule=settings.rule,
                **_keys(settings),
            )
            schedules: Schedules = []
            chosen = ""
            try:
                if settings.rule == ASK:
                    await bag.wait("choosing")
                    schedules = await _offered(bag)
                    chosen = choose(schedules)
                    await bag.choose(chosen)
                await bag.wait()
            except UnreachableError:
                return None
        return read(state, BagId(bag.number), schedules, chosen, stood_still)


async def _offered(bag: Bag) -> Schedules:
    """The schedules with their bounds, which lack while a newer offer has yet to be predicted."""
    for _ in range(_MOST_ASKING):
        schedules = [dict(one) for one in await bag.schedules()]
        if all(one["bounds"] for one in schedules):
            break
    return schedules


def _keys(settings: Settings) -> dict[str, Any]:
    """Settings that are not as usual, as a submission says them; the sweep and its limits apart."""
    usual = Settings(settings.tasks, settings.offerings)
    keys = {
        part.name: getattr(settings, part.name)
        for part in fields(settings)
        if part.name not in _OF_THE_BAG
        and getattr(settings, part.name) != getattr(usual, part.name)
    }
    keys["sampling"] = settings.sampling.value
    if settings.budget is not None:
        keys["budget"] = str(as_decimal(settings.budget))
    return keys


def read(
    state: Path,
    bag: BagId,
    schedules: Schedules,
    chosen: str,
    stood_still: list[float],
) -> Live:
    """All that the store has of a bag that is over."""
    with Reader(state) as reader:
        tasks = list(reader.every_task(bag))
        return Live(
            account(reader, bag),
            [(now, event_from(msgpack.unpackb(raw), bag)) for _, now, raw in reader.events(bag)],
            tasks,
            [output(reader, bag, GetLog(task=row.task))["data"] for row in tasks],
            schedules,
            chosen,
            stood_still,
        )


@contextlib.contextmanager
def state_folder() -> Iterator[Path]:
    """One of its own; no worker of it outlives us, even if we are interrupted."""
    state = Path(tempfile.mkdtemp(prefix="bats-live-"))
    try:
        yield state
    finally:
        _end_workers(state)
        shutil.rmtree(state, ignore_errors=True)


@contextlib.contextmanager
def _logged_in(state: Path) -> Iterator[None]:
    usual = structlog.get_config()["logger_factory"]
    with (state / _LOG).open("a", encoding="utf-8") as log:
        structlog.configure(logger_factory=structlog.WriteLoggerFactory(log))
        try:
            yield
        finally:
            structlog.configure(logger_factory=usual)


def _end_workers(state: Path) -> None:
    for folder in (state / "local").glob("*"):
        roster = Roster(folder)
        left: Sequence[Any] = roster.living()
        roster.stop(left, 3.0)
