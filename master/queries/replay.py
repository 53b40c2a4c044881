"""A bag's engine rebuilt from its journal, as it was when the last master ended.

The release that wrote the journal may have decided otherwise than this one does. Then what the
store's tables say of machines and tasks is told to the engine as well: which machines were asked
for, what was given up, how the bag ended.
"""

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgpack

from bats.common.messages import MachineId, TaskId
from bats.master.bag import Bag
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import Engine
from bats.master.brain.policies.by_name import possible_here
from bats.master.brain.protocol.commands import BagOutcome, RenewLease
from bats.master.brain.protocol.events import Asked, Cause, Closed, Event, GivenUp, Gone
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.numbering import by_hand
from bats.master.policy_packages import import_policies
from bats.master.store.reader import Reader

_OUTCOMES: Final = frozenset(outcome.value for outcome in BagOutcome)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The store's tables of a bag, machines by the numbers that its engine gave them."""

    machines: Mapping[MachineId, tuple[int, float]]  # asked for: of which cluster, when
    living: frozenset[MachineId]
    failed: tuple[TaskId, ...]

    @classmethod
    def of(cls, bag: Bag, reader: Reader) -> "Recorded":
        clusters = {str(offering.name): k for k, offering in enumerate(bag.settings.offerings)}
        rows = [row for row in reader.machines(bag.id) if row.offering in clusters]
        return cls(
            {row.id: (clusters[row.offering], row.requested or 0.0) for row in rows},
            frozenset(row.id for row in rows if row.gone is None),
            tuple(reader.not_done(bag.id)),
        )


UNHEARD_OF: Final = Recorded({}, frozenset(), ())
"""The tables of a bag that has not begun."""


class Replayed:
    """A bag's engine rebuilt from its journal, with what its commands left behind."""

    def __init__(self, bag: Bag, recorded: Recorded) -> None:
        import_policies()
        settings, self.words = possible_here(bag.settings)  # who decides otherwise than was named
        self.engine = Engine(settings)
        self.last = 0.0
        self.leases: dict[MachineId, float] = {}
        self.differs = False  # the engine would have done otherwise than was done
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

    def set_right(self) -> None:
        """The journal has ended: make the engine's books say what the tables say."""
        for machine in [one for one in self._unheard if one in self._recorded.living]:
            self._enter(machine, self.last)
        unsettled = set(self.engine.tasks(TaskState.WAITING, TaskState.RUNNING))
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
            if one.id not in self._recorded.machines and not by_hand(one.id)
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
