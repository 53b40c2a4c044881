"""All pools of a master: those of its clouds file, and earlier ones whose machines live on."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from bats.common.capacity.pool_rules import Pool
from bats.common.messages import BagId, MachineId
from bats.master.api.requests import SetCap
from bats.master.brain.protocol.numbering import FIRST_POOL, bag_of, before_first
from bats.master.queries.pools.pool_history import replayed_pools
from bats.master.service.bags.side_by_side import SideBySide
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.service.wire.admission import Admission
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store

if TYPE_CHECKING:  # most masters have no pools
    from bats.master.brain.pools.standing_pool import StandingPool
    from bats.master.service.pools.pool_keeper import PoolKeeper

log = structlog.get_logger()


def limits(pools: Iterable[Pool]) -> list[SetCap]:
    """The caps over what each of them may spend in a day and in a month."""
    return [
        SetCap(amount=amount, period=period, user=one.payer, zone=one.zone)
        for one in pools
        for period, amount in (("day", one.per_day), ("month", one.per_month))
        if amount is not None
    ]


class Pools:
    def __init__(
        self, store: Store, workers: Workers, fleet: Fleet, admission: Admission, bags: SideBySide
    ) -> None:
        self.keepers: dict[BagId, PoolKeeper] = {}
        self._store = store
        self._workers = workers
        self._fleet = fleet
        self._admission = admission
        self._bags = bags
        self._missing: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if self._missing:
            self._missing.cancel()
        for keeper in self.keepers.values():
            keeper.close()

    def restore(self, reader: Reader, wanted: Iterable[Pool]) -> None:
        """Take up earlier pools, before bags go on; one wanted no more ends its machines."""
        by_name = {one.name: one for one in wanted}
        last = BagId(FIRST_POOL - 1)
        for number, earlier in replayed_pools(reader).items():
            last = number
            rules = earlier.rules
            now = by_name.pop(rules.name, None) or replace(rules, most=0, least=0)
            rows = reader.machines(number)
            self._keep(number, earlier, now, rows)
            for row in rows:
                for key in row.keys if row.gone is None else ():
                    self._admission.admit(row.id, key, ticket=row.joined is None)
        for new in by_name.values():
            from bats.master.brain.pools.standing_pool import StandingPool

            last = BagId(last + 1)
            self._keep(last, StandingPool(before_first(last)), new, ())

    def _keep(
        self, number: BagId, pool: "StandingPool", rules: Pool, rows: Iterable[MachineRow]
    ) -> None:
        from bats.master.service.pools.pool_keeper import PoolKeeper

        keeper = PoolKeeper(
            number, pool, rules, rows, self._store, self._workers, self._fleet, self._bags
        )
        self.keepers[number] = keeper
        self._bags.pay(number, keeper, rules.payer, rules.currency)

    def begin(self, rejoin_seconds: float) -> None:
        """Watch their machines again, and look at them from now on."""
        for keeper in self.keepers.values():
            self._fleet.adopt(keeper)
            keeper.begin()
        loop = asyncio.get_running_loop()
        self._missing = loop.call_later(rejoin_seconds, self._miss_machines)

    def _miss_machines(self) -> None:
        """Machines that did not come back to a restarted master are silent."""
        for keeper in self.keepers.values():
            for one in keeper.pool.alive():
                if one.joined_at is not None and self._workers.of(one.id) is None:
                    log.warning("worker did not come back", machine=one.id)
                    keeper.machines.silent(one.id)

    def kept(self) -> "list[StandingPool]":
        return [keeper.pool for keeper in self.keepers.values()]

    # --- what workers tell ------------------------------------------------------------------------

    def of(self, machine: MachineId) -> "PoolKeeper | None":
        return self.keepers.get(bag_of(machine))

    def joined(self, worker: Worker) -> None:
        keeper = self.of(worker.machine)
        known = keeper.pool.machines.get(worker.machine) if keeper else None
        if keeper is None or known is None or not known.alive or not known.counts:
            reason = "the pool has given it up"
            self._workers.stop(worker.machine, reason)
            self._fleet.stop(worker.machine, reason)
            return
        self._fleet.joined(worker.machine)
        keeper.machines.joined(worker)

    def silent(self, machine: MachineId) -> None:
        keeper = self.of(machine)
        if keeper is not None and machine in keeper.pool.machines:
            keeper.machines.silent(machine)
