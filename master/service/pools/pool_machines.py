"""The machines of a pool: the row kept of each, what happens to it, how long it may live."""

from collections.abc import Callable, Iterable

from bats.common.billing import charge
from bats.common.messages import AttemptId, BagId, MachineId
from bats.common.money import NOTHING, Money
from bats.master.brain.books.machine import LEASE_SECONDS
from bats.master.brain.pools.pool_events import Event
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.commands import StartMachines
from bats.master.brain.protocol.events import Announced, Cause, Charged, Gone, Joined, Silent
from bats.master.service.bags.side_by_side import SideBySide
from bats.master.service.kept_rows import KeptRows
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store


class PoolMachines(KeptRows):
    def __init__(
        self,
        number: BagId,
        pool: StandingPool,
        rows: Iterable[MachineRow],
        clock: Callable[[], float],
        store: Store,
        workers: Workers,
        bags: SideBySide,
        happen: Callable[[Event], None],
    ) -> None:
        super().__init__({row.id: row for row in rows}, store)
        self._number = number
        self._pool = pool
        self._clock = clock
        self._workers = workers
        self._bags = bags
        self._happen = happen

    def wants(self, machine: MachineId) -> bool:
        known = self._pool.machines.get(machine)
        return known is not None and known.counts

    def held(self, machine: MachineId) -> frozenset[AttemptId] | None:
        return self._bags.held(machine)

    def has_others_than(self, cluster: int) -> bool:
        """True: a kind that is not to be had for long rests, and others make up for it."""
        del cluster
        return True

    # --- the life of a machine --------------------------------------------------------------------

    def requested(self, command: StartMachines) -> None:
        offering = self._pool.kinds[command.cluster].offering
        self._keep_requested(command, self._number, offering, self._clock())

    def joined(self, worker: Worker) -> None:
        """It serves all bags from now on, as one of its offering."""
        machine = worker.machine
        row = self.rows[machine]
        self._keep_joined(row, worker, self._clock())
        worker.offering = row.offering
        known = self._pool.machines[machine]
        self._happen(Joined(machine, worker.size.cpus, (), known.cluster))
        self._bags.came(worker)
        if not known.takes:
            self._bags.takes(machine, takes=False)

    def silent(self, machine: MachineId) -> None:
        self._bags.silent(machine)
        self._happen(Silent(machine))

    def announced(self, machine: MachineId, reason: str) -> None:
        """The provider takes it away soon: what it runs may end, nothing more begins there."""
        self._happen(Announced(machine, reason))

    def charged(self, machine: MachineId, since: float, address: str) -> None:
        self._keep_charged(machine, since, address)
        self._happen(Charged(machine, since))

    def found(self, machine: MachineId, unpaid_since: float | None) -> bool:
        """A machine that was given up is not taken back: the pool has others."""
        del machine, unpaid_since
        return False

    def gone(self, machine: MachineId, at: float | None, cause: Cause, detail: str) -> None:
        """`at` None: just now."""
        at = self._clock() if at is None else at
        self._bags.left(machine, detail or cause.value)
        row = self.rows.get(machine)
        known = self._pool.machines.get(machine)
        if row is not None and known is not None and row.gone is None:
            since = known.charged_since
            cost = NOTHING if since is None else charge(known.offering, max(0.0, at - since))
            self._keep(row._replace(gone=at, reason=detail or cause.value, cost=Money(cost)))
        self._happen(Gone(machine, at, cause, detail.partition("\n")[0]))

    # --- leases -----------------------------------------------------------------------------------

    def lease_seconds(self, machine: MachineId) -> float:
        """The seconds that this machine may live from now, as far as they are reserved."""
        known, now = self._pool.machines.get(machine), self._clock()
        if known is None or known.offering.free:
            return LEASE_SECONDS
        unheard = max(now + LEASE_SECONDS, known.billed_until(now))
        return max(0.0, min(known.lease_until(now), unheard) - now)

    def renew(self, machine: MachineId) -> None:
        self._workers.lease(machine, self.lease_seconds(machine))

    def renew_leases(self) -> None:
        """Renew leases by the clock: a reserve may reach further than a dead master should cost."""
        for one in self._pool.alive():
            if one.counts:
                self.renew(one.id)
