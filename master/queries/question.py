"""A question while it is answered: from the store, and a running master where there is one."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from bats.common.errors import StoreDamagedError, UnreachableError, UsageError, quoted
from bats.common.messages import BagId, MachineId, TaskId
from bats.master.bag import Bag
from bats.master.brain.engine import Engine
from bats.master.brain.planning.schedules import Schedule
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow

T = TypeVar("T")
Body = dict[str, Any]

_CATCH_UP_SECONDS: Final = 0.5  # usually a few thousandths


class Foretold(Protocol):
    async def bounded(self) -> tuple[Schedule, ...]: ...


class LiveBag(Protocol):
    """A bag in a master's memory: it has begun, and may have ended."""

    @property
    def id(self) -> BagId: ...
    @property
    def bag(self) -> Bag: ...
    @property
    def engine(self) -> Engine: ...
    @property
    def machines(self) -> Mapping[MachineId, MachineRow]: ...
    @property
    def predictions(self) -> Foretold: ...
    @property
    def revision(self) -> int: ...
    @property
    def changed(self) -> asyncio.Event: ...
    @property
    def clock(self) -> Callable[[], float]: ...
    def settled(self, task: TaskId) -> bool: ...
    async def glimpse(
        self, task: TaskId, attempt: int, stream: str, offset: int
    ) -> tuple[int, bytes, int] | None: ...


class LiveBags(Protocol):
    @property
    def known(self) -> Mapping[BagId, Bag]:
        """Those that have not ended, begun or not."""
        ...

    @property
    def loaded(self) -> Mapping[BagId, LiveBag]: ...
    @property
    def running(self) -> LiveBag | None: ...
    @property
    def changed(self) -> asyncio.Event: ...
    async def load(self, bag: BagId) -> LiveBag: ...


class Live(Protocol):
    """The knowledge of a running master beyond its store."""

    @property
    def bags(self) -> LiveBags: ...
    async def committed(self) -> None:
        """Return when all that it was told is in the store."""
        ...

    def waiting(self, machine: MachineId) -> tuple[str, str, str]:
        """A machine that has not come: state, address and reason; "" where unknown."""
        ...


class Question:
    """One request that only looks, and the way to answer it in parts."""

    def __init__(
        self,
        open_store: Callable[[], Reader],
        live: Live | None,
        body: Mapping[str, Any],
        part: Callable[[Body], Awaitable[None]],
    ) -> None:
        self.body = body
        self.part = part
        self.live = live
        self._open_store = open_store
        self._caught_up = live is None

    # --- what a body may hold ---

    def text(self, key: str, otherwise: str | None = None) -> str:
        return self._value(key, str, "a text", otherwise)

    def whole(self, key: str, otherwise: int | None = None, *, low: int = 0) -> int:
        value = self._value(key, int, "a whole number", otherwise)
        if value < low:
            raise UsageError(f"`{key}` should be {low} or more, not {value}.")
        return value

    def seconds(self, key: str, otherwise: float) -> float:
        value = self.body.get(key)
        if value is None:
            return otherwise
        if type(value) not in {int, float} or not 0 <= value < 1e9:
            raise UsageError(f"`{key}` should be a number of seconds, not {quoted(value)}.")
        return float(value)

    def _value(self, key: str, kind: type[T], called: str, otherwise: T | None) -> T:
        value = self.body.get(key)
        if value is None:
            value = otherwise
        if type(value) is not kind:
            raise UsageError(f"`{key}` should be {called}, not {quoted(self.body.get(key))}.")
        return value

    # --- where to find it ---

    async def read(self, look: Callable[[Reader], T]) -> T:
        """Ask the store, beside the event loop, for what was told before the request.

        While it cannot write, for what it has.
        """
        if not self._caught_up and self.live is not None:
            self._caught_up = True
            with contextlib.suppress(TimeoutError, StoreDamagedError):
                async with asyncio.timeout(_CATCH_UP_SECONDS):
                    await self.live.committed()

        def run() -> T:
            with self._open_store() as reader:
                return look(reader)

        return await asyncio.get_running_loop().run_in_executor(None, run)

    async def bag(self) -> BagId:
        """The bag meant; one that was submitted a moment ago counts too."""
        wanted = self.body.get("bag", "last")
        if type(wanted) is int and self.known(BagId(wanted)) is not None:
            return BagId(wanted)
        return await self.read(lambda reader: find_bag(reader, wanted))

    @property
    def running(self) -> LiveBag | None:
        return self.live.bags.running if self.live else None

    def at_work(self, bag: BagId) -> LiveBag | None:
        """It, if a master has it in memory."""
        return self.live.bags.loaded.get(bag) if self.live else None

    def known(self, bag: BagId) -> Bag | None:
        """It, if a master has it before it, begun or not."""
        return self.live.bags.known.get(bag) if self.live else None

    def master(self) -> Live:
        """Raises UnreachableError where there is only a store."""
        if self.live is None:
            raise UnreachableError("Only a running master can answer that.")
        return self.live

    async def load(self) -> LiveBag:
        """The bag meant, in memory, though it may have ended long ago."""
        return await self.master().bags.load(await self.bag())


def find_bag(reader: Reader, wanted: Any) -> BagId:
    """The bag of that number or name, or the last one. Raises UsageError."""
    rows = reader.bags()
    if not rows:
        raise UsageError("There is no bag yet; submit one.")
    if wanted in (None, "last"):
        return rows[-1].id
    if isinstance(wanted, str) and wanted.isdecimal():
        wanted = int(wanted)
    found = [row.id for row in rows if wanted in (row.id, row.name)]
    if found:
        return found[-1]
    known = ", ".join(f"{row.id} ({row.name})" for row in rows[-10:])
    raise UsageError(f"There is no bag {quoted(wanted)}; there are {known}.")
