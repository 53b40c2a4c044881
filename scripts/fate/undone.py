"""Fixes undone, one at a time: without it, the stories must show a violation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest import mock

import bats.master.service.bags.runner as runner_module
import bats.master.service.machines.provider as provider_module
import bats.master.service.transfers as transfers_module
import bats.master.store.database as database_module
from bats.common.messages import AttemptId, MachineId, Outcome, Result
from bats.common.ticket import Ticket
from bats.common.wire.keys import new_pair
from bats.deploy.protocol import Sighting
from bats.master.brain.engine import Engine
from bats.master.brain.household.caps import Caps
from bats.master.brain.protocol.events import Ended
from bats.master.brain.rules import pausing
from bats.master.brain.rules.machines import lending
from bats.master.service.bags.collection import Collection
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.comparison import Comparison
from bats.master.service.machines.provider import Provider as Owner
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.service.master import Master
from bats.master.service.transfers import Files
from bats.worker.tasks.attempts import Runner as Attempts
from bats.worker.tasks.prepared_bag import Bag
from fate.provider import Provider
from fate.world import World


@contextmanager
def done_before_its_files(_: World) -> Iterator[None]:
    """A result is recorded before what its task left is fetched."""

    def at_once(self: Any, machine: MachineId, results: list[Result]) -> list[AttemptId]:
        if results:
            self.happen(Ended(machine, tuple(results)))
        for one in results:
            if one.outcome is Outcome.DONE and one.outputs:
                self._collection.fetch(one)
        return []

    with mock.patch.object(Runner, "_collect", at_once):
        yield


@contextmanager
def any_result_counts(_: World) -> Iterator[None]:
    """Whoever tells a result is believed."""
    with mock.patch.object(Engine, "ordered_at", lambda *_: 0.0):
        yield


@contextmanager
def runtimes_are_believed(_: World) -> Iterator[None]:
    """A task is said to have run for 1e300 s."""
    with mock.patch.object(runner_module, "held_to", lambda told, _: told):
        yield


@contextmanager
def each_try_a_ticket(world: World) -> Iterator[None]:
    """The ticket of an earlier try, which the machine may have, is revoked by the next."""
    start = Provider.start

    async def anew(self: Any, tickets: Sequence[Ticket]) -> Mapping[MachineId, Sighting]:
        fresh = []
        assert world.master is not None
        for ticket in tickets:
            pair = new_pair()
            world.master.admission.revoke(ticket.machine)
            world.master.admission.admit(ticket.machine, pair.public, ticket=True)
            fresh.append(replace(ticket, public_key=pair.public, secret_key=pair.secret))
        return await start(self, fresh)

    with mock.patch.object(Provider, "start", anew):
        yield


@contextmanager
def laid_unsynced(_: World) -> Iterator[None]:
    """What tasks left is not synced where it belongs."""
    with mock.patch.object(transfers_module, "sync", lambda _: None):
        yield


@contextmanager
def folders_unsynced(_: World) -> Iterator[None]:
    """A new folder's name is not synced."""
    sync = database_module.sync

    def files_only(path: Any) -> None:
        if not path.is_dir():
            sync(path)

    with mock.patch.object(database_module, "sync", files_only):
        yield


@contextmanager
def a_full_disk_drops_files(_: World) -> Iterator[None]:
    """A file that cannot be laid out is given up with a line in the log."""
    laid = Files._laid

    async def once(self: Any, parcel: Any, *, last: bool) -> bool:
        await laid(self, parcel, last=last)
        return True

    with mock.patch.object(Files, "_laid", once):
        yield


@contextmanager
def books_are_not_compared(_: World) -> Iterator[None]:
    """Heartbeats tell that a worker lives, and no more."""
    with mock.patch.object(Comparison, "look", lambda *_: None):
        yield


@contextmanager
def unknown_twice_is_lost(_: World) -> Iterator[None]:
    """A machine that its provider does not list, twice in a moment, is held to be gone."""

    def twice(self: Any, one: Any) -> bool:
        before, one.lost_since = one.lost_since, 0.0
        self.look()
        return before is not None

    with mock.patch.object(Owner, "_surely_lost", twice):
        yield


@contextmanager
def errors_of_workers_escape(_: World) -> Iterator[None]:
    """No room at a worker for what a task has written raises, and is no result."""
    keep = Bag.keep

    def raising(self: Any, *of: Any) -> Any:
        try:
            return keep(self, *of)
        except OSError as error:
            raise RuntimeError("no room") from error

    def ended(self: Any, running: Any, pid: int) -> None:
        self._wind_up(running, pid)

    with mock.patch.object(Bag, "keep", raising), mock.patch.object(Attempts, "_ended", ended):
        yield


@contextmanager
def outputs_have_no_caps(_: World) -> Iterator[None]:
    """A task may leave as much as it likes."""
    with mock.patch.object(Collection, "_check_caps", lambda *_: None):
        yield


@contextmanager
def answers_wait_for_room(_: World) -> Iterator[None]:
    """Whoever changes something is answered once that is durable, however long it takes."""

    async def committed(self: Any) -> None:
        await self.store.committed()

    with mock.patch.object(Master, "committed", committed):
        yield


@contextmanager
def orders_go_out_at_once(_: World) -> Iterator[None]:
    """Workers are told to run tasks before it is written down that they were."""

    def at_once(self: Any) -> None:
        self._gathering = False
        if not self._paused:
            dirty, self._dirty = self._dirty, {}
            self._deliver([(worker, worker.seal()) for worker in dirty])

    with mock.patch.object(Workers, "_gather", at_once):
        yield


@contextmanager
def bags_know_of_no_others(_: World) -> Iterator[None]:
    """Under a cap, each bag is told that it may have all of it."""
    with mock.patch.object(Caps, "_committed", lambda *_: 0):
        yield


@contextmanager
def ends_are_when_they_are_learnt(_: World) -> Iterator[None]:
    """A machine that is gone was charged until just now."""

    def latest(one: Any, charged_seconds: float) -> float:
        return max(0.0, one.owner.clock() - charged_seconds)

    with mock.patch.object(provider_module, "_charged_since", latest):
        yield


@contextmanager
def resting_machines_are_looked_at_at_once(_: World) -> Iterator[None]:
    """One whose files still come while its bag is paused is due, again and again."""
    rest = pausing.rest

    def due(run: Any, machine: Any) -> None:
        rest(run, machine)
        if machine.collecting:
            run.pool.alarm(machine, machine.idle_until(run.now))

    with mock.patch.object(pausing, "rest", due):
        yield


@contextmanager
def lent_for_another_atu(_: World) -> Iterator[None]:
    """Machines are lent beyond the ATU that is billed anyway."""
    spare = lending.spare

    def longer(run: Any) -> Any:
        return {
            machine: one._replace(until=one.until + run.pool.machines[machine].offering.atu_seconds)
            for machine, one in spare(run).items()
        }

    with mock.patch.object(lending, "spare", longer):
        yield


@contextmanager
def leases_count_from_when_they_come(_: World) -> Iterator[None]:
    """A lease that is long on its way makes a life as much longer."""
    with mock.patch.object(Worker, "since_stamp", lambda _, seconds, __: (seconds, 0.0)):
        yield


FIXES: Final[dict[str, Callable[[World], AbstractContextManager[None]]]] = {
    "collecting": done_before_its_files,
    "ordered": any_result_counts,
    "clock": runtimes_are_believed,
    "ticket": each_try_a_ticket,
    "synced": laid_unsynced,
    "folders": folders_unsynced,
    "full": a_full_disk_drops_files,
    "lost": unknown_twice_is_lost,
    "books": books_are_not_compared,
    "worker": errors_of_workers_escape,
    "caps": outputs_have_no_caps,
    "answers": answers_wait_for_room,
    "orders": orders_go_out_at_once,
    "household": bags_know_of_no_others,
    "late": ends_are_when_they_are_learnt,
    "lent": lent_for_another_atu,
    "resting": resting_machines_are_looked_at_at_once,
    "lease": leases_count_from_when_they_come,
}
