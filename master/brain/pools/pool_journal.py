"""Events of a pool as plain data, for its journal."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from bats.common.capacity.pool_rules import Pool
from bats.common.errors import StoreDamagedError
from bats.common.messages import MachineId
from bats.master.brain.pools.plain_offerings import offering_from, plain_offering
from bats.master.brain.pools.pool_events import Event, Formed, Looked, Summed
from bats.master.brain.protocol import journal
from bats.master.brain.protocol.events import (
    Allotted,
    Announced,
    Charged,
    Gone,
    Joined,
    SetAside,
    Silent,
)

FORMED: Final = 100
LOOKED: Final = 101
SUMMED: Final = 102
"""Written to disk beside the numbers of a bag's events: never change one, only add."""

_OF_BAGS: Final = (Allotted, Announced, Charged, Gone, Joined, SetAside, Silent)


def plain(event: Event) -> list[Any]:
    if isinstance(event, Formed):
        return [FORMED, _plain_pool(event.pool), event.last]
    if isinstance(event, Summed):
        return [SUMMED, _plain_pool(event.pool), event.books]
    if isinstance(event, Looked):
        return [LOOKED, event.demand, event.busy, event.task_seconds, event.want, event.trouble]
    return journal.plain(event)


def event_from(written: list[Any]) -> Event:
    """The event again; StoreDamagedError when it is none."""
    try:
        if reader := _READERS.get(written[0]):
            return reader(*written[1:])
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(written) from error
    event = journal.event_from(written)
    if not isinstance(event, _OF_BAGS):
        raise _unreadable(written)
    return event


def _unreadable(written: list[Any]) -> StoreDamagedError:
    return StoreDamagedError(f"the journal of a pool cannot be read: {written!r:.200}")


def _plain_pool(pool: Pool) -> dict[str, Any]:
    told = {one.name: getattr(pool, one.name) for one in fields(Pool)}
    told["kinds"] = [plain_offering(kind) for kind in pool.kinds]
    return told


def _pool(told: Mapping[str, Any]) -> Pool:
    known = {one.name for one in fields(Pool)}
    kinds = tuple(map(offering_from, told["kinds"]))
    return Pool(**{key: value for key, value in told.items() if key in known} | {"kinds": kinds})


def _looked(
    demand: int, busy: list[int], seconds: float, want: list[int] | None, trouble: str = ""
) -> Looked:
    machines = tuple(map(MachineId, busy))
    return Looked(demand, machines, seconds, None if want is None else tuple(want), trouble)


_READERS: Final[Mapping[int, Callable[..., Event]]] = {
    FORMED: lambda pool, last: Formed(_pool(pool), MachineId(last)),
    LOOKED: _looked,
    SUMMED: lambda pool, books: Summed(_pool(pool), books),
}
