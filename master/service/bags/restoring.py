"""Bags that ran under an earlier master are taken up again, with their machines and their files."""

import time
from collections.abc import Container, Iterable, Mapping

import structlog

from bats.common.messages import BagId
from bats.common.offering import Offering
from bats.master.bag import Bag, read_bag
from bats.master.brain.protocol.numbering import bag_of, by_hand, serves_all
from bats.master.queries.replay import Recorded, Replayed
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.workers import Workers
from bats.master.service.owner import Owner
from bats.master.service.wire.admission import Admission
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store

log = structlog.get_logger()


class Restoring:
    def __init__(self, reader: Reader, store: Store, fleet: Fleet, admission: Admission) -> None:
        self._reader = reader
        self._machines = reader.machines()
        self._store = store
        self._fleet = fleet
        self._admission = admission

    def replayed(self, bag: Bag) -> Replayed:
        """Raises OtherBrainError if another release knows it better."""
        started = time.monotonic()
        found = Replayed.of(bag, self._reader.events(bag.id), Recorded.of(bag, self._reader))
        log.info("bag resumed", bag=bag.id, done=found.engine.headline().done,
                 seconds=round(time.monotonic() - started, 2))  # fmt: skip
        return found

    def machines(self, bag: BagId) -> list[MachineRow]:
        """Its own, and those of pools or started by hand, which may serve it."""
        return [row for row in self._machines if row.bag == bag or serves_all(row.id)]

    def resume(self, runner: Runner) -> None:
        """Let it go on: its machines may come back, and what they left is fetched."""
        bag, reader = runner.bag, self._reader
        for row in self._machines:
            if row.bag == bag.id and row.gone is None and row.public_key:
                for key in row.keys:
                    self._admission.admit(row.id, key, ticket=row.joined is None)
        runner.set_right()
        self._fleet.adopt(runner)
        runner.resume()
        runner.count_files(reader.every_task(bag.id))
        runner.fetch_missing(reader.every_task(bag.id))
        runner.fetch_missing(reader.every_attempt(bag.id))

    def clean_up(
        self,
        offerings: Iterable[Offering],
        running: Mapping[BagId, Owner],
        left: Container[BagId],
    ) -> None:
        """Machines that live on and are in no running bag's books are found; ours are stopped.

        Those of bags that are `left` to another release are not.
        """
        places = list(offerings)
        for row in self._machines:
            mine = not by_hand(row.id) and bag_of(row.id) not in left
            if row.gone is None and mine and bag_of(row.id) not in running:
                places += read_bag(self._reader, row.bag).settings.offerings
                self._store.machine(row._replace(gone=row.requested, reason="left over"))
        own = {row.id for row in self._machines if bag_of(row.id) not in left}
        self._fleet.clean_up(places, running, own)


def miss_machines(runner: Runner, workers: Workers) -> None:
    """Machines that did not come back to a restarted master are silent."""
    for machine in runner.engine.alive():
        if machine.joined_at is not None and workers.of(machine.id) is None:
            log.warning("worker did not come back", machine=machine.id)
            runner.machines.silent(machine.id)
