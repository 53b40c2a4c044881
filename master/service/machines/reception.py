"""Whatever workers say is told to the bags that it is about; those started by hand serve all."""

from collections.abc import Sequence

import structlog

from bats.common.messages import AttemptId, BagId, Result
from bats.master.brain.books.machine import LEASE_SECONDS
from bats.master.brain.protocol.numbering import bag_of, by_hand, of_pool, serves_all
from bats.master.service.bags.queue import Bags
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.service.owner import ticket_size
from bats.master.service.transfers import Files
from bats.master.store.store import Store

log = structlog.get_logger()


class Reception:
    """The `Listener` of workers' reports."""

    def __init__(
        self, bags: Bags, store: Store, workers: Workers, fleet: Fleet, files: Files
    ) -> None:
        self._bags = bags
        self._store = store
        self._workers = workers
        self._fleet = fleet
        self._files = files

    def work(self, bag: BagId) -> Runner | None:
        return self._bags.loaded.get(bag)

    def held(self, worker: Worker) -> frozenset[AttemptId] | None:
        if serves_all(worker.machine):
            return self._bags.side_by_side.held(worker.machine)
        runner = self._runner(worker)
        own = runner.machines.held(worker.machine) if runner else None
        if own is None:
            return None
        borrowers = self._bags.side_by_side.borrowers(worker.machine)
        return own.union(*(one.machines.held(worker.machine) or () for one in borrowers))

    def lease_seconds(self, worker: Worker) -> float:
        owner = self._bags.owners.get(bag_of(worker.machine))
        return owner.machines.lease_seconds(worker.machine) if owner else LEASE_SECONDS

    def joined(self, worker: Worker) -> None:
        self._files.again(worker.machine)
        if by_hand(worker.machine):
            self._bags.side_by_side.came(worker)
            return
        self._hold_to_ticket(worker)
        if of_pool(worker.machine):
            self._bags.pools.joined(worker)
            return
        runner = self._runner(worker)
        if runner is None or worker.machine not in runner.machines.rows:
            self._workers.stop(worker.machine, "its bag has ended")
            self._fleet.stop(worker.machine, "its bag has ended")
            return
        self._fleet.joined(worker.machine)
        # Who borrows it only now has ordered what its worker could not have held when it spoke.
        borrowers = self._bags.side_by_side.borrowers(worker.machine)
        runner.machines.joined(worker, borrowers={one.id for one in borrowers})
        for borrower in borrowers:
            borrower.machines.rejoined(worker)

    def _hold_to_ticket(self, worker: Worker) -> None:
        """It gets no more tasks at a time than the machine that was asked for has room for."""
        owner = self._bags.owners.get(bag_of(worker.machine))
        known = owner.known(worker.machine) if owner else None
        if owner is not None and known is not None:
            told, asked = worker.size, ticket_size(known.offering, owner.task_slots)
            worker.size = told.with_least(asked)
            if worker.size != told:
                log.warning("a worker says that it is larger than its ticket", told=str(told),
                            machine=worker.machine, ticket=str(asked))  # fmt: skip

    def silent(self, worker: Worker) -> None:
        runner = self._runner(worker)
        if by_hand(worker.machine):
            self._bags.side_by_side.silent(worker.machine)
        elif of_pool(worker.machine):
            self._bags.pools.silent(worker.machine)
        elif runner is not None and runner.machines.wants(worker.machine):
            runner.machines.silent(worker.machine)
        self._fleet.look(worker.machine)

    def cut_off(self, worker: Worker) -> None:
        """Count a worker as cut off: it may come back, or its back end will tell its end."""
        self._fleet.look(worker.machine)

    def ended_late(self, worker: Worker, results: Sequence[Result]) -> None:
        """Take in results of a bag that has ended and was forgotten."""
        if counted := self._bags.late.counted(worker.machine, results):
            self._store.results(counted)

    def returned(self, worker: Worker, attempts: tuple[AttemptId, ...]) -> None:
        for bag in {attempt.bag for attempt in attempts}:
            if runner := self._bags.loaded.get(bag):
                given = runner.engine.ordered_at
                tasks = tuple(
                    task
                    for of, task, attempt in attempts
                    if of == bag and given(worker.machine, task, attempt) is not None
                )
                runner.returned(worker.machine, tasks)

    def left(self, worker: Worker, reason: str) -> None:
        if by_hand(worker.machine):
            self._bags.side_by_side.left(worker.machine, reason)
        else:
            if of_pool(worker.machine):
                self._bags.side_by_side.left(worker.machine, reason)
            self._fleet.left(worker.machine)

    def _runner(self, worker: Worker) -> Runner | None:
        """The bag that it was started for, if that is in memory."""
        return self._bags.loaded.get(bag_of(worker.machine))
