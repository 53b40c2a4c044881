"""All workers: who is there over which connection, told in few messages what to do.

What several events of one turn want done by a worker goes out together. Orders wait until they
are durable, so that a master that is killed has given none that its journal does not know; but for
those of machines that end many tasks a second, which would stand still meanwhile. If the disk falls
far behind, these wait as well.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from itertools import groupby
from typing import Final

from bats.common.messages import (
    AttemptId,
    BagId,
    Glimpse,
    Kill,
    Lease,
    Look,
    MachineId,
    Order,
    Refused,
    ResultsStored,
    Run,
    Stop,
    TaskId,
    Welcome,
)
from bats.common.wire.codec import encode
from bats.master.api.replies.machine_replies import WorkerLine
from bats.master.brain.protocol.numbering import by_hand
from bats.master.service.bags.clock import boot_clock
from bats.master.service.machines.acknowledgements import Acknowledgements
from bats.master.service.machines.worker import Letter, Work, Worker
from bats.master.service.wire.router import Router
from bats.master.store.store import Store

_LARGEST_RUN_BYTES: Final = 8 << 20
_MOST_ORDERS: Final = 1024  # in a message
_MOST_BEHIND: Final = 20_000  # facts that are not durable; then all orders wait till they are
_GLIMPSE_SECONDS: Final = 3.0  # for a worker to say what a task has written


class Workers:
    def __init__(
        self, router: Router, store: Store, release: str, heartbeat_seconds: float
    ) -> None:
        self._router = router
        self._store = store
        self.acks = Acknowledgements(store, self)
        self._release = release
        self._heartbeat_seconds = heartbeat_seconds
        self._loop = asyncio.get_running_loop()
        self._by_route: dict[bytes, Worker] = {}
        self._by_machine: dict[MachineId, Worker] = {}
        self._dirty: dict[Worker, None] = {}
        self._gathering = False
        self._paused = False
        self._asked: dict[tuple[AttemptId, str, int], list[asyncio.Future[Glimpse]]] = {}

    def of(self, machine: MachineId) -> Worker | None:
        return self._by_machine.get(machine)

    def route_of(self, machine: MachineId) -> bytes | None:
        """The connection of a machine, if it has one now."""
        worker = self._by_machine.get(machine)
        return worker.route if worker and worker.route in self._by_route else None

    def on(self, route: bytes) -> Worker | None:
        return self._by_route.get(route)

    def all(self) -> Iterable[Worker]:
        return list(self._by_machine.values())

    def snapshot(self) -> list[WorkerLine]:
        return [
            {
                "machine": worker.machine,
                "host": worker.host,
                "slots": worker.size.cpus,
                "memory_bytes": worker.size.memory_bytes,
                "gpus": worker.size.gpus,
                "running": len(worker.running),
                "silent": worker.silent,
                "heard_seconds_ago": self._loop.time() - worker.heard_at,
            }
            for worker in self.all()
        ]

    def started_by_hand(self) -> list[Worker]:
        return [
            worker
            for worker in self._by_machine.values()
            if by_hand(worker.machine) and worker.route in self._by_route and not worker.silent
        ]

    # --- coming and going -------------------------------------------------------------------------

    def add(self, worker: Worker) -> None:
        """A new connection; an earlier one of the same machine is not listened to any more."""
        if before := self._by_machine.get(worker.machine):
            self.drop(before)
        self._by_route[worker.route] = worker
        self._by_machine[worker.machine] = worker

    def welcome(self, worker: Worker, lease_seconds: float) -> None:
        seconds, stamp = worker.since_stamp(lease_seconds, boot_clock())
        beats = self._heartbeat_seconds
        self._send(worker, Welcome(self._release, beats, seconds, worker.machine, stamp))

    def expect(self, machine: MachineId) -> None:
        """Expect a machine that was held to be gone: its next word is as good as a Hello."""
        if worker := self._by_machine.get(machine):
            worker.silent = True

    def lost(self, route: bytes) -> Worker | None:
        """The worker whose connection is gone; it may come back over another one."""
        self._router.forget(route)
        return self._by_route.pop(route, None)

    def drop(self, worker: Worker) -> None:
        self._by_route.pop(worker.route, None)
        self._dirty.pop(worker, None)
        self._router.forget(worker.route)
        if self._by_machine.get(worker.machine) is worker:
            del self._by_machine[worker.machine]

    # --- telling ----------------------------------------------------------------------------------

    def run(
        self,
        machine: MachineId,
        work: Work,
        orders: Iterable[tuple[TaskId, int]],
        *,
        at_once: bool = False,
    ) -> None:
        """Have tasks run as soon as that is durable, or `at_once`."""
        if worker := self._by_machine.get(machine):
            worker.letter.orders.setdefault(work, []).extend(orders)
            worker.letter.at_once &= at_once
            self._touch(worker)

    def kill(self, machine: MachineId, attempt: AttemptId) -> None:
        if worker := self._by_machine.get(machine):
            worker.letter.kills.append(attempt)
            self._touch(worker)

    async def look(
        self, machine: MachineId, of: AttemptId, stream: str, offset: int
    ) -> Glimpse | None:
        """The output of an attempt so far; None when its worker says nothing to it."""
        worker = self._by_machine.get(machine)
        if worker is None:
            return None
        told: asyncio.Future[Glimpse] = self._loop.create_future()
        key = (of, stream, offset)
        waiting = self._asked.setdefault(key, [])
        waiting.append(told)
        self._send(worker, Look(of, stream, offset))
        try:
            async with asyncio.timeout(_GLIMPSE_SECONDS):
                return await told
        except TimeoutError:
            return None
        finally:
            waiting.remove(told)
            if not waiting and self._asked.get(key) is waiting:
                del self._asked[key]

    def answered(self, glimpse: Glimpse) -> None:
        for asked in self._asked.pop((glimpse.of, glimpse.stream, glimpse.offset), ()):
            if not asked.done():
                asked.set_result(glimpse)

    def lease(self, machine: MachineId, seconds: float) -> None:
        if worker := self._by_machine.get(machine):
            told = worker.since_stamp(max(0.0, seconds), boot_clock())
            self._send(worker, Lease(*told))

    def stop(self, machine: MachineId, reason: str) -> bool:
        """False when there is no connection to tell it over."""
        worker = self._by_machine.get(machine)
        if worker is None or worker.route not in self._by_route:
            return False
        self._send(worker, Stop(reason))
        return True

    def pause(self, paused: bool) -> None:
        """Begin nothing new while the store cannot write."""
        self._paused = paused
        if not paused:
            self._gather()

    @property
    def paused(self) -> bool:
        return self._paused or self._gathering

    def acknowledge(self, worker: Worker, serial: int) -> None:
        """Its results up to this serial are durable."""
        self._send(worker, ResultsStored(serial))

    def refuse(self, worker: Worker, why: str, *, retry: bool = True) -> None:
        """Let it say Hello again, over which it tells what it holds; or let it go for good."""
        self._router.send(worker.route, encode(Refused(why, retry=retry)))
        self.drop(worker)

    def _send(self, worker: Worker, message: Welcome | Lease | Look | Stop | ResultsStored) -> None:
        self._router.send(worker.route, encode(message))

    def _touch(self, worker: Worker) -> None:
        self._dirty[worker] = None
        if not self._gathering:
            self._gathering = True
            self._loop.call_soon(self._gather)

    def _gather(self) -> None:
        """Send what this turn has decided, or as soon as that is durable; to each in its order."""
        self._gathering = False
        if self._paused:
            return
        dirty, self._dirty = self._dirty, {}
        near = self._store.backlog < _MOST_BEHIND
        later = []
        for worker in dirty:
            ahead = worker.sealed
            letter = worker.seal()
            if letter.at_once and near and not ahead:
                self._deliver([(worker, letter)])
            else:
                later.append((worker, letter))
        if later:
            self._store.then(partial(self._deliver, later))

    def _deliver(self, letters: Iterable[tuple[Worker, Letter]]) -> None:
        """Nothing to a connection that is no more: what it held is told over the next."""
        for worker, letter in letters:
            worker.sealed -= 1
            if self._by_machine.get(worker.machine) is not worker:
                continue
            for work, pairs in letter.orders.items():
                self._send_orders(worker, work, pairs)
            if letter.kills:
                self._router.send(worker.route, encode(Kill(tuple(letter.kills))))

    def _send_orders(self, worker: Worker, work: Work, pairs: list[tuple[TaskId, int]]) -> None:
        bag, values = work.id, work.values
        for kind, alike in groupby(pairs, key=lambda pair: work.kind(pair[0])):
            orders = [Order(task, number, values(task)) for task, number in alike]
            if worker.kinds.get(bag) != kind:
                worker.kinds[bag] = kind
                self._router.send(worker.route, encode(work.spec(worker, kind)))
            for start in range(0, len(orders), _MOST_ORDERS):
                self._send_run(worker.route, bag, orders[start : start + _MOST_ORDERS])

    def _send_run(self, route: bytes, bag: BagId, orders: list[Order]) -> None:
        frame = encode(Run(bag, tuple(orders)))
        if len(frame) > _LARGEST_RUN_BYTES and len(orders) > 1:
            half = len(orders) // 2
            self._send_run(route, bag, orders[:half])
            self._send_run(route, bag, orders[half:])
        else:
            self._router.send(route, frame)
