"""The machines of one pool in many lanes at once: rows are lanes, columns are machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from bats.master.brain.arrays import np
from bats.master.brain.unreliable.pools import (
    ALIVE,
    LOST,
    NEVER,
    Billing,
    Floats,
    Instances,
    Pool,
)
from bats.master.brain.unreliable.throughput import Machines

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints: TypeAlias = "NDArray[np.intp]"
Bools: TypeAlias = "NDArray[np.bool_]"


class PoolLanes:
    def __init__(
        self, pool: Pool, billing: Billing, found: Sequence[Machines], counts: Sequence[int]
    ) -> None:
        self.pool, self.billing = pool, billing
        shape = len(found), max([1, *counts])
        self.free = np.full(shape, NEVER)  # NEVER: there is no such machine
        self.since = np.full(shape, NEVER)
        self.state = np.full(shape, ALIVE, dtype=np.int8)
        self.task = np.full(shape, -1, dtype=np.intp)
        self.owed = np.zeros(shape)
        for row, (machines, count) in enumerate(zip(found, counts, strict=True)):
            there = len(machines.free)
            self.free[row, :count] = 0.0
            self.free[row, :there] = machines.free
            self.since[row, :there] = machines.since
            self.state[row, :there] = machines.state
            self.task[row, :there] = machines.task
            self.owed[row, :there] = machines.owed

    def first(self, rows: Ints, due: Floats) -> tuple[Ints, Floats, Bools]:
        """The machine of each row that can take an instance first; when; and if it is a new one."""
        at = np.maximum(self.free[rows], due[:, None])
        new = (self.state[rows] != ALIVE) | (self.since[rows] == NEVER)
        if self.billing is Billing.UPTIME:  # idle ones leave at the end of the ATU they are in
            new |= self._paid_until(rows) < at
        if self.pool.start_seconds:
            at = np.where(new, at + self.pool.start_seconds, at)
        best = at.argmin(1)
        here = np.arange(len(rows))
        return best, at[here, best], new[here, best]

    def start(self, rows: Ints, best: Ints, at: Floats) -> Floats:
        """Have new machines ready by then; the price of those in whose place they come."""
        due = self._bill(self.since[rows, best], self.free[rows, best])
        self.since[rows, best] = at - self.pool.start_seconds
        self.free[rows, best] = at
        self.state[rows, best] = ALIVE
        self.task[rows, best] = -1
        return due

    def send(
        self, rows: Ints, best: Ints, at: Floats, new: Bools, task: Ints, instances: Instances
    ) -> Floats:
        """Give each row's machine an instance; the price of what is due thereby."""
        due = np.zeros(len(rows))
        due[new] = self.start(rows[new], best[new], at[new])
        self.free[rows, best] = at + instances.end
        self.state[rows, best] = instances.machine
        self.task[rows, best] = task
        owed = np.where(instances.back < NEVER, instances.back, 0.0) * self.pool.rate
        self.owed[rows, best] = owed
        return due + owed if self.billing is Billing.RESULTS else due

    def kill(self, rows: Ints, task: Ints, at: Floats) -> Floats:
        """Stop what else runs for these tasks; the price of results that will not come now."""
        killed = (self.task[rows] == task[:, None]) & (self.free[rows] > at[:, None])
        killed &= self.free[rows] < NEVER
        self.free[rows] = np.where(killed, at[:, None], self.free[rows])
        still = killed & (self.state[rows] == LOST)  # it is lost later, if at all
        self.state[rows] = np.where(still, ALIVE, self.state[rows])
        saved: Floats = np.where(killed, self.owed[rows], 0.0).sum(1)
        self.owed[rows] = np.where(killed, 0.0, self.owed[rows])
        return saved if self.billing is Billing.RESULTS else np.zeros(len(rows))

    def keep(self, rows: Bools) -> None:
        """Forget the other lanes."""
        self.free, self.since, self.state = self.free[rows], self.since[rows], self.state[rows]
        self.task, self.owed = self.task[rows], self.owed[rows]

    def used(self) -> Ints:
        """The machines that each lane ever used."""
        return np.asarray((self.since < NEVER).sum(1), dtype=np.intp)

    def last_bills(self) -> Floats:
        """The price of all machines of each lane that have not been billed."""
        total: Floats = self._bill(self.since, self.free).sum(1)
        return total

    def _paid_until(self, rows: Ints) -> Floats:
        since = self.since[rows]
        known = np.where(since < NEVER, since, 0.0)
        free = np.where(since < NEVER, self.free[rows], 0.0)
        return self.pool.paid_until(known, free)

    def _bill(self, since: Floats, until: Floats) -> Floats:
        if self.billing is Billing.RESULTS:
            return np.zeros(since.shape)
        there = since < NEVER
        return self.pool.bill(np.where(there, until, 0.0) - np.where(there, since, 0.0))
