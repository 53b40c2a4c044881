"""The protocol of scalers, and what they see of a pool (Ilyushkin, thesis §4.2.2).

Every interval Δt a scaler is shown demand, supply, the workflows present and the money, and says
how many machines of each kind there should be. The pool starts and releases them.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

from bats.common.money import NOTHING, Money
from bats.common.records import dataclass
from bats.master.brain.placement.arrived_workflow import Present
from bats.master.brain.placement.placer import Busy


@dataclass(frozen=True, slots=True)
class Kind:
    """Machines of one kind: at most so many, each at a price for an interval."""

    name: str
    most: int
    price: Money = NOTHING
    speed: float = 1.0


class MachineView(Protocol):
    """A machine of the pool, as it can be read."""

    @property
    def number(self) -> int: ...

    @property
    def kind(self) -> int: ...

    @property
    def hired(self) -> float:
        """The moment from which it is paid."""
        ...

    @property
    def ready(self) -> bool:
        """False while it boots."""
        ...

    @property
    def idle_since(self) -> float | None:
        """None while it boots or runs a task."""
        ...


class ElasticView(Protocol):
    """A pool as its scaler sees it."""

    @property
    def now(self) -> float: ...

    @property
    def interval(self) -> float:
        """Δt: seconds until the scaler is asked again."""
        ...

    @property
    def kinds(self) -> Sequence[Kind]: ...

    @property
    def supply(self) -> Sequence[int]:
        """Machines of each kind, those that boot among them."""
        ...

    @property
    def demand(self) -> int:
        """Tasks that run or may start."""
        ...

    @property
    def present(self) -> Sequence[Present]:
        """Workflows with tasks left, in the order of arrival."""
        ...

    @property
    def boot_seconds(self) -> float:
        """That machines took from hire to readiness, the last ones on the mean; 0: none has yet."""
        ...

    @property
    def ended(self) -> Sequence[int]:
        """Tasks ended since the last call, by the kind of their machine."""
        ...

    @property
    def budget(self) -> Money | None:
        """b: money for an interval; None: as much as there is."""
        ...

    def machines(self) -> Iterator[MachineView]: ...

    def busy(self) -> Iterator[Busy]: ...


class Scaler(Protocol):
    """One belongs to one pool, for it may remember."""

    @property
    def sees_tasks(self) -> bool:
        """False of one that looks neither at `present` nor at `busy`: they need not be shown."""
        ...

    def want(self, pool: ElasticView) -> Sequence[int]:
        """Machines of each kind that there should be; the pool clips them to what can be."""
        ...


class OfLoad:
    """A scaler that knows load alone (§4.4.1): L = ⌈load / μ⌉ against the supply.

    Load is the demand at the call: tasks that run or may start. μ = `rate` is how many tasks a
    machine ends in an interval; the thesis has 1 (its mean runtime) and 14 (its median).
    """

    sees_tasks = False

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate

    def want(self, pool: ElasticView) -> Sequence[int]:
        load = math.ceil(pool.demand / self.rate)
        return in_order(self.target(load, sum(pool.supply)), pool.kinds)

    def target(self, load: int, cap: int) -> int:
        """So many machines for the load L, where there are `cap`."""
        raise NotImplementedError


def in_order(number: int, kinds: Sequence[Kind]) -> list[int]:
    """So many machines, of the first kind as many as there can be, then of the next."""
    wanted = []
    for kind in kinds:
        wanted.append(max(0, min(number, kind.most)))
        number -= wanted[-1]
    return wanted
