"""One worker's connection: what it was told, what it said last, what waits to be sent to it."""

from dataclasses import field
from typing import Final, Protocol

from bats.common.capacity.resources import Resources
from bats.common.messages import AttemptId, BagId, BagSpec, MachineId, TaskId
from bats.common.records import dataclass

_STAMP_SECONDS: Final = 30.0  # for which a worker's stamp is preferred to later ones

Kind = tuple[int, TaskId | None]
"""The step of a task, and the task itself if it is brought files that no other is."""


class Work(Protocol):
    """A bag as workers are told of it."""

    @property
    def id(self) -> BagId: ...

    def spec(self, worker: "Worker", kind: Kind) -> BagSpec:
        """The orders that follow are to be carried out like this."""
        ...

    def kind(self, task: TaskId) -> Kind:
        """Tasks of one kind are all carried out alike."""
        ...

    def values(self, task: TaskId) -> tuple[str, ...]: ...


@dataclass(slots=True)
class Letter:
    """Orders and kills for a worker; orders go first, for kills may be about them."""

    orders: dict[Work, list[tuple[TaskId, int]]] = field(default_factory=dict)
    kills: list[AttemptId] = field(default_factory=list)
    at_once: bool = True  # does not wait for its orders to be durable

    def __bool__(self) -> bool:
        return bool(self.orders or self.kills)


class Worker:
    __slots__ = (
        "heard_at",
        "holding",
        "host",
        "incarnation",
        "kinds",
        "letter",
        "limits",
        "machine",
        "odd",
        "odd_beats",
        "offering",
        "owed",
        "pid",
        "route",
        "running",
        "sealed",
        "silent",
        "size",
        "stamp",
        "stamped_at",
        "stored",
    )

    def __init__(
        self,
        machine: MachineId,
        route: bytes,
        incarnation: str,
        size: Resources,
        offering: str = "",
    ) -> None:
        self.machine = machine
        self.route = route
        self.incarnation = incarnation  # one per daemon process
        self.size = size
        self.offering = offering  # that a worker started by hand wants to count as
        self.limits = ""  # how it holds tasks to those of their bag
        self.host = ""
        self.pid = 0
        self.holding: tuple[AttemptId, ...] = ()  # when it came
        self.running: tuple[tuple[AttemptId, float], ...] = ()  # at its last heartbeat
        self.heard_at = 0.0  # by the loop's clock
        self.silent = False
        self.stamp = 0.0  # of its own clock, which it told at
        self.stamped_at = 0.0  # by the boot's clock here
        self.stored = 0  # results up to this serial have been taken in
        self.owed: dict[AttemptId, int] = {}  # files are coming: the serial of its result
        self.odd: frozenset[object] = frozenset()  # what did not agree at its last heartbeat
        self.odd_beats = 0  # for which something has not agreed
        self.kinds: dict[BagId, Kind] = {}  # whose spec it was told last
        self.letter = Letter()  # of this turn
        self.sealed = 0  # letters that wait until what they say is durable

    def tells_clock(self, stamp: float, now: float) -> None:
        """Keep the stamp that was least under way of those that came in the last half minute.

        Leases count from it. One that was long under way would make them that much shorter; one of
        long ago would make them longer, if the machine was paused since and its clock with it.
        """
        old = now - self.stamped_at > _STAMP_SECONDS
        if not self.stamp or old or stamp - now >= self.stamp - self.stamped_at:
            self.stamp, self.stamped_at = stamp, now

    def since_stamp(self, seconds: float, now: float) -> tuple[float, float]:
        """Of a lease of so many seconds from now: its seconds from a stamp on, and the stamp.

        A worker of an older release gives none; its lease counts from when it hears of it.
        """
        if not self.stamp:
            return seconds, 0.0
        return seconds + now - self.stamped_at, self.stamp

    @property
    def awaits_word(self) -> bool:
        """True if something was decided that it has not been told yet."""
        return bool(self.letter) or self.sealed > 0

    def seal(self) -> Letter:
        letter, self.letter = self.letter, Letter()
        self.sealed += 1
        return letter

    @property
    def settled(self) -> int:
        """Results up to this serial need not be kept any longer, once the store is written."""
        return min(self.owed.values(), default=self.stored + 1) - 1
