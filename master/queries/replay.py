"""A bag's engine rebuilt from its journal, as it was when the last master ended.

The release that wrote the journal may have decided otherwise than this one does. Then what the
store's tables say of machines and tasks is told to the engine as well: which machines were asked
for, what was given up, how the bag ended.

The journal's writer kept a digest of its engine's books. If this engine's differ there, the books
that come of it all are held against the tables: a bag of which both do not say the same is refused.
"""

import gc
from collections.abc import Mapping
from typing import Any, Final

import msgpack

from bats.common.errors import StoreDamagedError
from bats.common.messages import BagId, MachineId, Outcome, TaskId
from bats.common.money import NOTHING, Money, show
from bats.common.records import dataclass
from bats.master.bag import Bag, read_bag
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.policies.by_name import possible_here
from bats.master.brain.protocol.commands import BagOutcome, EndBag, RenewLease
from bats.master.brain.protocol.events import Asked, Cause, Closed, Event, GivenUp, Gone
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.numbering import serves_all
from bats.master.brain_version import brain_version
from bats.master.policy_packages import import_policies
from bats.master.store.reader import Reader

_UNSETTLED: Final = (TaskState.WAITING, TaskState.RUNNING, TaskState.BLOCKED)
_OUTCOMES: Final = frozenset(outcome.value for outcome in BagOutcome)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The store's tables of a bag, machines by the numbers that its engine gave them."""

    machines: Mapping[MachineId, tuple[int, float]]  # asked for: of which cluster, when
    living: frozenset[MachineId]
    failed: tuple[TaskId, ...]
    done: int = 0
    paid: Money = NOTHING  # for machines that are gone

    @classmethod
    def of(cls, bag: Bag, reader: Reader) -> "Recorded":
        clusters = {str(offering.name): k for k, offering in enumerate(bag.settings.offerings)}
        rows = [row for row in reader.machines(bag.id) if row.offering in clusters]
        return cls(
            {row.id: (clusters[row.offering], row.requested or 0.0) for row in rows},
            frozenset(row.id for row in rows if row.gone is None),
            tuple(reader.not_done(bag.id)),
            reader.outcomes(bag.id).get(Outcome.DONE, 0),
            Money(sum(row.cost for row in rows)),
        )


UNHEARD_OF: Final = Recorded({}, frozenset(), ())
"""The tables of a bag that has not begun."""


class OtherBrainError(StoreDamagedError):
    """The journal means something else to this release than to the one that wrote it."""


class Replayed:
    """A bag's engine rebuilt from its journal, with what its commands left behind."""

    def __init__(self, bag: Bag, recorded: Recorded) -> None:
        import_policies()
        settings, self.words = possible_here(bag.settings)  # who decides otherwise than was named
        self.engine = Engine(settings)
        self.last = 0.0
        self.leases: dict[MachineId, float] = {}
        self.end: EndBag | None = None  # the last, if the bag ended
        self.events = 0  # heard
        self.differs = False  # the engine would have done otherwise than was done
        self.agrees: bool | None = None  # its books, with those of who wrote it; None: unknown
        self._bag = bag
        self._had_ended = bag.ended is not None  # though it may be about to go on
        self._recorded = recorded
        self._unheard = dict(recorded.machines)

    @classmethod
    def of(cls, bag: Bag, events: Any, recorded: Recorded) -> "Replayed":
        """May take a while, and touches nothing else: fit for another thread."""
        self = cls(bag, recorded)
        collecting = gc.isenabled()
        gc.disable()  # a million short-lived objects, and no cycles among them
        try:
            for _, now, written in events:
                self.hear(event_from(msgpack.unpackb(written), bag.id), now)
            self.set_right()
            self.check()
        finally:
            if collecting:
                gc.enable()
        return self

    def hear(self, event: Event, now: float) -> None:
        """The next event of the journal."""
        machine = getattr(event, "machine", None)
        if machine in self._unheard:
            self._enter(machine, now)
        self._tell(event, now)
        self.events += 1
        if (looked := self._bag.books) is not None and looked.events == self.events:
            self.agrees = looked.digest == self.engine.digest()

    def check(self) -> None:
        """Raise OtherBrainError if books that are not those of who wrote it are false, too."""
        looked = self._bag.books
        if looked is None or self.agrees is not False:
            return
        run, recorded = self.engine.headline(), self._recorded
        ours = (run.done, run.settled)
        if ours == (recorded.done, recorded.paid):
            self.differs = True
            return
        raise OtherBrainError(
            f"Bag {self._bag.id} was run by the scheduler {looked.brain}. By the books of this "
            f"one, {brain_version()}, {run.done} tasks are done and {show(run.settled)} is paid; "
            f"its results and machines say {recorded.done} and {show(recorded.paid)}. Nothing was "
            "changed: go on with it under that release."
        )

    def set_right(self) -> None:
        """The journal has ended: make the engine's books say what the tables say."""
        for machine in [one for one in self._unheard if one in self._recorded.living]:
            self._enter(machine, self.last)
        unsettled = set(self.engine.tasks(*_UNSETTLED))
        if failed := tuple(t for t in self._recorded.failed if t in unsettled):
            self._tell(GivenUp(failed), self.last)
            self.differs = True
        if self._bag.state in _OUTCOMES and not self.engine.over:
            self._tell(Closed(self._bag.state, self._bag.words), self.last)
            for machine in self.unasked():
                self._tell(Gone(machine, self.last, Cause.STOPPED), self.last)
        self.differs |= bool(self.unasked())

    def unasked(self) -> list[MachineId]:
        """Machines that only this engine would have asked for."""
        return [
            one.id
            for one in self.engine.alive()
            if one.id not in self._recorded.machines and not serves_all(one.id)
        ]

    def dropped(self) -> list[TaskId]:
        """Tasks of a bag that goes on, which only this engine would have ended without."""
        cancelled = self.engine.headline().outcome is BagOutcome.CANCELLED
        meant = self._had_ended or cancelled  # by the user
        if meant or not self.differs:
            return []
        failed = set(self._recorded.failed)
        gone = self.engine.tasks(TaskState.DROPPED, TaskState.FAILED)
        return [task for task in gone if task not in failed]

    def _enter(self, machine: MachineId, now: float) -> None:
        """Enter a machine that was asked for, unless the engine decided the same and knows it."""
        cluster, since = self._unheard.pop(machine)
        known = self.engine.machine(machine)
        if known is None or known.cluster != cluster:
            self._tell(Asked(machine, cluster, since), now)
            self.differs = True

    def _tell(self, event: Event, now: float) -> None:
        self.last = now
        for command in self.engine.handle(event, now):
            if type(command) is RenewLease:
                self.leases[command.machine] = command.until
            elif type(command) is EndBag:
                self.end = command


class BagAtRest:
    """A bag that no master has in memory, to be looked at: a second or so for 100,000 tasks."""

    def __init__(self, reader: Reader, number: BagId) -> None:
        self.id = number
        self.bag = read_bag(reader, number)
        replayed = Replayed.of(self.bag, reader.events(number), Recorded.of(self.bag, reader))
        self.engine = replayed.engine
        self.predictions = _Recorded(self.engine)
        self._last = replayed.last

    def clock(self) -> float:
        """The time of the last that happened to it."""
        return self._last


class _Recorded:
    """The promises that a journal holds; releases before 0.2.0 wrote none down."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def bounded(self) -> tuple[Schedule, ...]:
        return self._engine.foretold or self._engine.planned
