"""A pool that grows and shrinks as its scaler says (thesis §4.2.2, §5.3). A pure state machine.

Machines that boot count as supply, or a boot longer than the interval would start them twice. A
machine with a task is never released; of idle ones the longest idle first. With nothing left to do
the pool is as small as it may be, whatever the scaler says. What is on never costs more for an
interval than the budget.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean
from typing import Final, NamedTuple, Protocol, runtime_checkable

from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.placement.placer import Busy, Placer
from bats.master.brain.placement.pool import Arrived, Completed, Pool, Start
from bats.master.brain.scaling.releasing import Due
from bats.master.brain.scaling.scaler import ElasticView, Kind, MachineView, Scaler

_BOOTS: Final = 20  # the last ones


class Booted(NamedTuple):
    place: int


class Look(NamedTuple):
    """The scaler is asked; of each kind so many more machines may be started."""

    room: Sequence[int]


class Hire(NamedTuple):
    """A command: start this machine; its boot counts as paid time."""

    place: int
    kind: int


class Release(NamedTuple):
    """A command: end this machine."""

    place: int


Command = Start | Hire | Release


@dataclass(slots=True)
class Machine:
    number: int
    kind: int
    hired: float
    ready: bool = False
    idle_since: float | None = None


@runtime_checkable
class PlansTasks(Protocol):
    """A scaler that says which task runs where, too: after machines were started, before others
    are released.
    """

    def plan(self, pool: ElasticView) -> Collection[int]:
        """The machines for which it has no task."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """The frame that a scaler is put in."""

    kinds: Sequence[Kind]
    interval: float
    due: Due
    least: int = 0  # machines that stay, of the first kind
    budget: Money | None = None  # for an interval


class ElasticPool(Pool):
    """Events and the time go in, commands come out; the same ones for the same seed."""

    def __init__(self, rules: Rules, scaler: Scaler, placer: Placer, seed: int = 0) -> None:
        super().__init__([], placer, seed)
        self.speeds: list[float] = []
        self.kinds = rules.kinds
        self.interval = rules.interval
        self.budget = rules.budget
        self.ended = [0] * len(rules.kinds)
        self._rules = rules
        self._scaler = scaler
        self._machines: dict[int, Machine] = {}
        self._boots: deque[float] = deque(maxlen=_BOOTS)

    def elastic(self, event: Arrived | Completed | Booted | Look, now: float) -> list[Command]:
        """Take in an event, as `handle` does; its places come and go."""
        self.now = now
        if isinstance(event, Look):
            return [*self._scale(event.room), *self._fill()]
        if isinstance(event, Booted):
            self._boot(event.place)
            return list(self._fill())
        return list(self.handle(event, now))

    # --- what a scaler sees -----------------------------------------------------------------------

    @property
    def supply(self) -> list[int]:
        return [
            sum(one.kind == kind for one in self._machines.values())
            for kind in range(len(self.kinds))
        ]

    @property
    def demand(self) -> int:
        return sum(one.eligible for one in self.present)

    @property
    def ready(self) -> int:
        """Machines that have booted."""
        return len(self._free) + len(self._running)

    @property
    def cost(self) -> Money:
        """Of all machines, for an interval."""
        return Money(sum(self.kinds[one.kind].price for one in self._machines.values()))

    @property
    def boot_seconds(self) -> float:
        return fmean(self._boots) if self._boots else 0.0

    def machines(self) -> Iterator[MachineView]:
        yield from self._machines.values()

    def busy(self) -> Iterator[Busy]:
        for place, (workflow, task, began) in self._running.items():
            kind = self._machines[place].kind
            takes = workflow.workflow.estimate(task, kind, self.speeds[place])
            yield Busy(place, workflow, task, max(began + takes, self.now))

    def is_free(self, place: int) -> bool:
        machine = self._machines.get(place)
        return machine is not None and machine.idle_since is not None

    # ----------------------------------------------------------------------------------------------

    def _scale(self, room: Sequence[int]) -> Iterator[Command]:
        wanted = self._wanted()
        self.ended = [0] * len(self.kinds)
        if isinstance(self._scaler, PlansTasks):
            yield from self._hire(wanted, room)
            spare = set(self._scaler.plan(self))
            yield from self._release([one for one in self._idle() if one.number in spare])
            return
        surplus = []
        for kind, (have, want) in enumerate(zip(self.supply, wanted, strict=True)):
            idle = [one for one in self._idle() if one.kind == kind and self._due(one)]
            surplus += idle[: max(0, have - want)]
        yield from self._release(surplus)
        yield from self._hire(wanted, room)

    def _wanted(self) -> list[int]:
        wanted = list(self._scaler.want(self))
        if not self.present:
            wanted = [0] * len(self.kinds)
        wanted[0] = max(wanted[0], self._rules.least)
        return [min(want, kind.most) for want, kind in zip(wanted, self.kinds, strict=True)]

    def _hire(self, wanted: Sequence[int], room: Sequence[int]) -> Iterator[Hire]:
        cost = self.cost
        for kind, (have, want) in enumerate(zip(self.supply, wanted, strict=True)):
            for _ in range(min(want - have, room[kind])):
                if self.budget is not None and cost + self.kinds[kind].price > self.budget:
                    break
                cost = Money(cost + self.kinds[kind].price)
                number = len(self.speeds)
                self.speeds.append(self.kinds[kind].speed)
                self._machines[number] = Machine(number, kind, self.now)
                yield Hire(number, kind)

    def _release(self, machines: Sequence[Machine]) -> Iterator[Release]:
        for one in machines:
            if self._due(one):
                del self._free[bisect_left(self._free, (-self.speeds[one.number], one.number))]
                del self._machines[one.number]
                yield Release(one.number)

    def _idle(self) -> list[Machine]:
        """Those idle longest first."""
        idle = [(one.idle_since, one.number, one) for one in self._machines.values()
                if one.idle_since is not None]  # fmt: skip
        return [one for *_, one in sorted(idle)]

    def _due(self, machine: Machine) -> bool:
        return self._rules.due(self.now - machine.hired, self.interval)

    def _boot(self, place: int) -> None:
        machine = self._machines[place]
        machine.ready = True
        machine.idle_since = self.now
        self._boots.append(self.now - machine.hired)
        insort(self._free, (-self.speeds[place], place))

    def _complete(self, place: int) -> None:
        super()._complete(place)
        machine = self._machines[place]
        machine.idle_since = self.now
        self.ended[machine.kind] += 1

    def _fill(self) -> Iterator[Start]:
        for start in super()._fill():
            self._machines[start.place].idle_since = None
            yield start
