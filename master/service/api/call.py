"""A client's request as a handler sees it: what it may hold, and where to look things up."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from bats.common.errors import StoreDamagedError, UsageError, quoted
from bats.common.messages import BagId
from bats.master.service.api import answers
from bats.master.service.bags.queue import Bags
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.fleet import Fleet
from bats.master.service.options import Options
from bats.master.store.blobs import Blobs
from bats.master.store.reader import Reader
from bats.master.store.store import Store

T = TypeVar("T")
Body = dict[str, Any]

_CATCH_UP_SECONDS: Final = 0.5  # usually a few thousandths


class Service(Protocol):
    """The master, as far as handlers need it."""

    options: Options
    store: Store
    bags: Bags
    fleet: Fleet
    blobs: Blobs

    def snapshot(self) -> Body: ...

    def shut_down(self, reason: str) -> None: ...


@dataclass(slots=True)
class Call:
    """One request, and the way to answer it in parts."""

    service: Service
    body: Mapping[str, Any]
    part: Callable[[Body], Awaitable[None]]
    _caught_up: bool = field(default=False, init=False)

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
        if not self._caught_up:
            self._caught_up = True
            with contextlib.suppress(TimeoutError, StoreDamagedError):
                async with asyncio.timeout(_CATCH_UP_SECONDS):
                    await self.service.store.committed()

        def run() -> T:
            with self.service.store.reader() as reader:
                return look(reader)

        return await asyncio.get_running_loop().run_in_executor(None, run)

    async def bag(self) -> BagId:
        """The bag meant; one that was submitted a moment ago counts too."""
        wanted = self.body.get("bag", "last")
        if type(wanted) is int and wanted in self.service.bags.known:
            return BagId(wanted)
        return await self.read(lambda reader: answers.find_bag(reader, wanted))

    async def runner(self) -> Runner:
        return await self.service.bags.load(await self.bag())
