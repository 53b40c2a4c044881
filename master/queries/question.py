"""A question while it is answered: from the store, and a running master where there is one."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from bats.common.errors import StoreDamagedError, UnreachableError, UsageError, quoted
from bats.common.messages import BagId, MachineId, TaskId
from bats.master.api.replies import CapLine
from bats.master.bag import Bag
from bats.master.brain.engine import Engine
from bats.master.brain.household.household import HouseholdView
from bats.master.brain.planning.schedules import Schedule
from bats.master.queries.replay import BagAtRest
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow, MachineRow

if TYPE_CHECKING:
    from bats.master.brain.pools.standing_pool import StandingPool

T = TypeVar("T")

_CATCH_UP_SECONDS: Final = 0.5  # usually a few thousandths


class Foretold(Protocol):
    async def bounded(self) -> tuple[Schedule, ...]: ...


class Machines(Protocol):
    @property
    def rows(self) -> Mapping[MachineId, MachineRow]: ...


class KnownBag(Protocol):
    """A bag with its engine, be it in a master's memory or rebuilt from its journal."""

    @property
    def id(self) -> BagId: ...
    @property
    def bag(self) -> Bag: ...
    @property
    def engine(self) -> Engine: ...
    @property
    def predictions(self) -> Foretold: ...
    @property
    def clock(self) -> Callable[[], float]: ...


class LiveBag(KnownBag, Protocol):
    """A bag in a master's memory: it has begun, and may have ended."""

    @property
    def machines(self) -> Machines: ...
    @property
    def revision(self) -> int: ...
    @property
    def changed(self) -> asyncio.Event: ...
    def overtaken(self, task: TaskId, attempt: int) -> bool: ...
    def settled(self, task: TaskId) -> bool: ...
    async def glimpse(
        self, task: TaskId, attempt: int, stream: str, offset: int
    ) -> tuple[int, bytes, int] | None: ...


class KeptPools(Protocol):
    def kept(self) -> "Sequence[StandingPool]":
        """Those whose machines serve all bags."""
        ...


class LiveBags(Protocol):
    @property
    def known(self) -> Mapping[BagId, Bag]:
        """Those that have not ended, begun or not."""
        ...

    @property
    def loaded(self) -> Mapping[BagId, LiveBag]: ...
    @property
    def running(self) -> Mapping[BagId, LiveBag]: ...
    @property
    def changed(self) -> asyncio.Event: ...
    def shares(self) -> HouseholdView:
        """The common machines, and which bag has what of them."""
        ...

    def caps_told(self) -> list[CapLine]:
        """The caps over all bags, with what is left of them."""
        ...

    @property
    def pools(self) -> KeptPools: ...

    def waits_for(self, bag: Bag) -> Sequence[BagId]:
        """Bags that have not ended, and that it is to begin after."""
        ...

    async def load(self, bag: BagId) -> LiveBag: ...


class Live(Protocol):
    """The knowledge of a running master beyond its store."""

    @property
    def bags(self) -> LiveBags: ...
    @property
    def trouble(self) -> str:
        """The reason why nothing new is begun; "" if none."""
        ...

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
        part: Callable[[Mapping[str, Any]], Awaitable[None]],
        user: str = "",
    ) -> None:
        """`user` is the name that the client's key carries; "" may see and change all bags."""
        self.user = user
        self.body = body
        self.part = part
        self.live = live
        self._open_store = open_store
        self._caught_up = live is None

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

    async def bag(self, wanted: int | str) -> BagId:
        """The bag meant; one that was submitted a moment ago counts too."""
        if type(wanted) is int and (bag := self.known(BagId(wanted))) is not None:
            if self.user not in ("", bag.user):
                raise UsageError(_not_yours(bag.id, bag.user, self.user))
            return BagId(wanted)
        return await self.read(lambda reader: find_bag(reader, wanted, self.user))

    @property
    def running(self) -> Mapping[BagId, LiveBag]:
        """Bags that run, in the order of submission."""
        return self.live.bags.running if self.live else {}

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

    async def load(self, wanted: int | str) -> KnownBag:
        """The bag meant, with its engine, though it may have ended long ago or has no master."""
        number = await self.bag(wanted)
        if self.live is not None:
            return await self.live.bags.load(number)
        return await self.read(lambda reader: BagAtRest(reader, number))


def find_bag(reader: Reader, wanted: Any, user: str = "") -> BagId:
    """The bag of that number or name, or the last one; of a user's own. Raises UsageError."""
    rows = reader.bags()
    own = [row for row in rows if user in ("", owner(row))]
    if not own:
        raise UsageError("There is no bag yet; submit one.")
    if wanted in (None, "last"):
        return own[-1].id
    if isinstance(wanted, str) and wanted.isdecimal():
        wanted = int(wanted)
    found = [row.id for row in own if wanted in (row.id, row.name)]
    if found:
        return found[-1]
    if others := [row for row in rows if wanted == row.id]:
        raise UsageError(_not_yours(others[0].id, owner(others[0]), user))
    known = ", ".join(f"{row.id} ({row.name})" for row in own[-10:])
    raise UsageError(f"There is no bag {quoted(wanted)}; there are {known}.")


def owner(row: BagRow) -> str:
    """The name that the key carried with which it was submitted."""
    return str(json.loads(row.summary).get("user", "")) if row.summary else ""


def _not_yours(bag: BagId, owner: str, user: str) -> str:
    whose = f"{owner}'s" if owner else "of the master's own access file"
    return f"Bag {bag} is {whose}; the key of {user} may look after {user}'s bags."
