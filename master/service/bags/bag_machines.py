"""The machines of one bag: the row kept of each, what happens to it, how long it may live."""

from collections.abc import Callable, Container, Mapping

from bats.common.billing import charge
from bats.common.messages import AttemptId, BagId, MachineId
from bats.common.money import NOTHING, Money
from bats.master.bag import Bag
from bats.master.brain.books.machine import LEASE_SECONDS, MachineState
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import StartMachines
from bats.master.brain.protocol.events import (
    Announced,
    Cause,
    Charged,
    Event,
    Found,
    Gone,
    Joined,
    Silent,
    TakenBack,
)
from bats.master.brain.protocol.numbering import of_pool, serves_all
from bats.master.service.bags.collection import Collection
from bats.master.service.kept_rows import KeptRows
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store


class BagMachines(KeptRows):
    def __init__(
        self,
        bag: Bag,
        engine: Engine,
        clock: Callable[[], float],
        store: Store,
        workers: Workers,
        collection: Collection,
        rows: Mapping[MachineId, MachineRow],
        leases: dict[MachineId, float],
        happen: Callable[[Event], None],
        changed: Callable[[], None],
    ) -> None:
        """`leases`: until when each may live; `changed` is for clients who wait for news."""
        super().__init__(rows, store)
        self._bag = bag
        self._engine = engine
        self._clock = clock
        self._workers = workers
        self._collection = collection
        self._leases = leases
        self._happen = happen
        self._changed = changed

    def held(self, machine: MachineId) -> frozenset[AttemptId] | None:
        """The attempts that it should hold; None when it is not known to work."""
        held = self._engine.held(machine)
        if held is None:
            return None
        return frozenset(AttemptId(self._bag.id, task, attempt) for task, attempt in held)

    def wants(self, machine: MachineId) -> bool:
        """True if this machine has a place in the engine's books, and is not to stop."""
        known = self._engine.machine(machine)
        return known is not None and known.wanted

    def has_others_than(self, cluster: int) -> bool:
        """True if machines of other offerings are at work, so that it goes on without this one."""
        return any(
            machine.cluster != cluster and machine.state is MachineState.UP
            for machine in self._engine.alive()
        )

    def offering(self, machine: MachineId) -> str:
        """The name of its offering; of one started by hand another bag may call it otherwise."""
        row = None if serves_all(machine) else self.rows.get(machine)
        if row is None and (known := self._engine.machine(machine)):
            return self._bag.settings.offerings[known.cluster].name
        return row.offering if row else ""

    def _keep(self, row: MachineRow) -> None:
        """A pool's machine is written down by its pool."""
        if of_pool(row.id):
            self.rows[row.id] = row
        else:
            super()._keep(row)

    # --- the life of a machine --------------------------------------------------------------------

    def requested(self, command: StartMachines) -> None:
        offering = self._bag.settings.offerings[command.cluster]
        self._keep_requested(command, self._bag.id, offering, self._clock())

    def joined(
        self,
        worker: Worker,
        cluster: int = -1,
        places: int | None = None,
        borrowers: Container[BagId] = (),
    ) -> None:
        """`places` of a worker that serves several bags: so many of its tasks have room there.

        What it holds of bags that are neither `borrowers` nor this one nobody wants any more.
        """
        machine = worker.machine
        row = self.rows.get(machine)
        if row is not None and row.gone is not None and serves_all(machine):
            row = None  # it had left, and is back
        if row is None and cluster >= 0:
            offering = self._bag.settings.offerings[cluster]
            row = MachineRow(machine, BagId(0), offering.name, "by hand", requested=self._clock())
        if row is not None:
            self._keep_joined(row, worker, self._clock())
        holding = [(one.task, one.attempt) for one in worker.holding if one.bag == self._bag.id]
        if places is None:
            places = max(1, worker.size.holds(self._bag.settings.task))
        self._happen(Joined(machine, places, tuple(holding), cluster))
        for attempt in worker.holding:
            wanted = attempt.bag == self._bag.id or attempt.bag in borrowers
            if not wanted and not serves_all(machine):
                self._workers.kill(machine, attempt)
        self._changed()

    def rejoined(self, worker: Worker) -> None:
        """A machine that another bag pays for tells what it holds of this one."""
        holding = [(one.task, one.attempt) for one in worker.holding if one.bag == self._bag.id]
        self._happen(Joined(worker.machine, worker.size.cpus, tuple(holding)))

    def give_back(self, machine: MachineId) -> None:
        """Nothing more of it is this bag's; files that are still there are not waited for."""
        left = self._collection.forget(machine)
        self._workers.acks.settled(machine, [AttemptId(*one[:3]) for one in left])
        self._happen(TakenBack(machine))
        self._changed()

    def silent(self, machine: MachineId) -> None:
        self._happen(Silent(machine))

    def found(self, machine: MachineId, unpaid_since: float | None) -> bool:
        """A machine that was held to be gone lives; whether the bag can pay for it and takes it."""
        self._happen(Found(machine, unpaid_since))
        taken = self.wants(machine)
        if taken:
            self._keep(self.rows[machine]._replace(gone=None, reason=""))
        self._changed()
        return taken

    def announced(self, machine: MachineId, reason: str) -> None:
        """The provider takes it away soon."""
        self._happen(Announced(machine, reason))
        self._changed()

    def charged(self, machine: MachineId, since: float, address: str) -> None:
        self._keep_charged(machine, since, address)
        self._happen(Charged(machine, since))

    def gone(self, machine: MachineId, at: float | None, cause: Cause, detail: str) -> None:
        """`at` None: just now."""
        left = self._collection.forget(machine)
        self._workers.acks.settled(machine, [AttemptId(*one[:3]) for one in left])
        row = self.rows.get(machine)
        now = self._clock()
        at = now if at is None else at
        if row is not None and row.gone is None:
            known = self._engine.machine(machine)
            since = known.charged_since if known else None
            cost = charge(known.offering, at - since) if known and since is not None else NOTHING
            cost = Money(row.cost + cost)  # of earlier lives, if it was once held to be gone
            self._keep(row._replace(gone=at, reason=detail or cause.value, cost=cost))
        self._happen(Gone(machine, at, cause, detail.partition("\n")[0]))
        self._changed()

    # --- leases -----------------------------------------------------------------------------------

    def lease_seconds(self, machine: MachineId) -> float:
        """The seconds that this machine may live from now, as far as it is paid for."""
        until, now = self._leases.get(machine), self._clock()
        known = self._engine.machine(machine, now)
        if known is None or known.offering.free:
            return LEASE_SECONDS if until is None else max(0.0, until - now)
        if until is None:
            return known.lease_seconds
        unheard = max(now + LEASE_SECONDS, known.billed_until)
        return max(0.0, min(until, unheard) - now)

    def renew(self, machine: MachineId, until: float) -> None:
        """Let it live until then; it is told when that is durable. A pool sees to its own."""
        if of_pool(machine):
            return
        self._leases[machine] = until
        self._store.then(lambda: self._workers.lease(machine, self.lease_seconds(machine)))

    def renew_leases(self) -> None:
        """Renew leases by the clock: a reserve may reach further than a dead master should cost."""
        for machine in self._leases:
            if self.wants(machine):
                self._workers.lease(machine, self.lease_seconds(machine))
