"""The books of a pool as plain data: what its journal came to, which may then be forgotten."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bats.common.messages import MachineId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.books.ledger import Ledger
from bats.master.brain.books.machine import MachineState
from bats.master.brain.pools.plain_offerings import offering_from, plain_offering
from bats.master.brain.pools.pool_events import Summed
from bats.master.brain.pools.pool_kind import Kind
from bats.master.brain.pools.pool_machine import PoolMachine
from bats.master.brain.pools.pool_moment import MOMENTS, Moment
from bats.master.brain.protocol import journal
from bats.master.brain.protocol.events import Allotted

if TYPE_CHECKING:
    from bats.master.brain.pools.standing_pool import StandingPool

_NUMBERS: Final = ("now", "demand", "target", "task_seconds", "short", "trouble", "why",
                   "decided_at", "last", "forgotten", "woken_at")  # fmt: skip
_OF_KIND: Final = ("boots", "fruitless", "rest", "rests_until", "reason")
_OF_MACHINE: Final = ("id", "cluster", "requested_at", "charged_since", "joined_at", "slots",
                      "atus", "draining", "idle_since", "takes", "leased", "settled")  # fmt: skip


_SUMMED_AFTER: Final = 10_000  # events: three days and a half at the usual interval
_EVENTS_OF_MACHINE: Final = 10  # so that sums cost little beside the events themselves


def is_long(pool: "StandingPool") -> bool:
    """True if its journal has become long for what there is to remember."""
    return pool.unsummed >= max(_SUMMED_AFTER, _EVENTS_OF_MACHINE * len(pool.machines))


def summed(pool: "StandingPool") -> Summed:
    """All that must be known of it, as one event."""
    return Summed(pool.rules, plain_books(pool))


def plain_books(pool: "StandingPool") -> dict[str, Any]:
    offerings: list[Offering] = []

    def place(offering: Offering) -> int:
        if offering not in offerings:
            offerings.append(offering)
        return offerings.index(offering)

    ledger, reserved = pool.ledger, pool.ledger.reserved_for
    kinds = [[place(one.offering), *_values(one, _OF_KIND)] for one in pool.kinds]
    machines = [
        [place(one.offering), one.state.value, *_values(one, _OF_MACHINE), reserved(one.id)]
        for one in pool.machines.values()
    ]
    return {
        **{name: getattr(pool, name) for name in _NUMBERS},
        "offerings": [plain_offering(one) for one in offerings],
        "kinds": kinds,
        "machines": machines,
        "settled": ledger.settled,
        "allowance": ledger.allowance,
        "cap": None if pool.cap is None else journal.plain(pool.cap),
        "busy": sorted(pool.busy),
        "moments": [list(one) for one in pool.moments],
    }


def _values(of: object, names: Sequence[str]) -> list[Any]:
    return [getattr(of, name) for name in names]


def take_up(pool: "StandingPool", books: Mapping[str, Any]) -> None:
    """The pool stands as the books say, whatever it was before; but for its rules."""
    for name in _NUMBERS:
        setattr(pool, name, books[name])
    offerings = [offering_from(one) for one in books["offerings"]]
    pool.kinds = []
    for place, *values in books["kinds"]:
        kind = Kind(offerings[place])
        for name, value in zip(_OF_KIND, values, strict=True):
            setattr(kind, name, value)
        pool.kinds.append(kind)
    pool.ledger = Ledger(None)
    pool.ledger.settled = Money(books["settled"])
    pool.ledger.allowance = books["allowance"]
    pool.machines = {}
    for place, state, *values, reserved in books["machines"]:
        one = PoolMachine(MachineId(values[0]), 0, offerings[place], 0.0)
        one.state = MachineState(state)
        for name, value in zip(_OF_MACHINE, values, strict=True):
            setattr(one, name, value)
        pool.machines[one.id] = one
        if one.alive:
            pool.ledger.owe(one.id, Money(reserved))
    cap = None if books["cap"] is None else journal.event_from(books["cap"])
    pool.cap = cap if isinstance(cap, Allotted) else None
    pool.busy = set(map(MachineId, books["busy"]))
    pool.moments = deque((Moment(*one) for one in books["moments"]), MOMENTS)
