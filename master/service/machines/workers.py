"""All workers: greets them, notices their silence, and tells them in few messages what to do.

What several events of one turn want sent to a worker goes out as one message at its end.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import structlog

from bats.common.messages import (
    AttemptId,
    BagId,
    BagSpec,
    Glimpse,
    Heartbeat,
    Hello,
    Kill,
    Lease,
    Look,
    MachineId,
    Order,
    Refused,
    Result,
    Results,
    ResultsStored,
    Returned,
    Run,
    Stop,
    TaskId,
    Welcome,
)
from bats.common.wire.codec import encode
from bats.master.brain.protocol.numbering import by_hand
from bats.master.service.machines.worker import Worker
from bats.master.service.wire.router import Router
from bats.master.store.store import Store

_LARGEST_RUN_BYTES: Final = 8 << 20
_MOST_ORDERS: Final = 1024  # in a message
_MOST_BEHIND: Final = 20_000  # facts that are not durable; then nothing new is begun till they are
_ACK_SECONDS: Final = 0.05  # between two acknowledgements; a message each, however many results
_GLIMPSE_SECONDS: Final = 3.0  # for a worker to say what a task has written
_FORGET_AFTER: Final = 20  # times the silence; who comes back then says Hello

log = structlog.get_logger()


class Work(Protocol):
    """A bag as workers are told of it, and what they tell of it."""

    def spec(self, worker: Worker) -> BagSpec: ...

    def values(self, task: TaskId) -> tuple[str, ...]: ...

    def ended_tasks(self, machine: MachineId, results: Sequence[Result]) -> None: ...


class Listener(Protocol):
    """A listener to what workers say; the machine is always the one whose key said it."""

    def work(self, bag: BagId) -> Work | None: ...

    def joined(self, worker: Worker) -> None: ...

    def silent(self, worker: Worker) -> None: ...

    def cut_off(self, worker: Worker) -> None: ...

    def ended_late(self, worker: Worker, results: Sequence[Result]) -> None: ...

    def returned(self, worker: Worker, attempts: tuple[AttemptId, ...]) -> None: ...

    def left(self, worker: Worker, reason: str) -> None: ...

    def lease_seconds(self, worker: Worker) -> float: ...


class Workers:
    def __init__(
        self,
        router: Router,
        store: Store,
        release: str,
        heartbeat_seconds: float,
        silence_seconds: float,
    ) -> None:
        self._router = router
        self._store = store
        self.listener: Listener  # given before anything is heard
        self._release = release
        self._heartbeat_seconds = heartbeat_seconds
        self._silence_seconds = silence_seconds
        self._loop = asyncio.get_running_loop()
        self._by_route: dict[bytes, Worker] = {}
        self._by_machine: dict[MachineId, Worker] = {}
        self._dirty: dict[Worker, None] = {}
        self._flushing = False
        self._paused = False
        self._acks: dict[Worker, int] = {}
        self._acking: asyncio.TimerHandle | None = None
        self._acknowledged_at = -_ACK_SECONDS
        self._looking = self._loop.call_later(heartbeat_seconds / 2, self._look)
        self._looked_at = self._loop.time()
        self._asked: dict[tuple[AttemptId, str, int], list[asyncio.Future[Glimpse]]] = {}

    def close(self) -> None:
        self._looking.cancel()
        if self._acking:
            self._acking.cancel()

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

    def started_by_hand(self) -> list[Worker]:
        return [
            worker
            for worker in self._by_machine.values()
            if by_hand(worker.machine) and worker.route in self._by_route and not worker.silent
        ]

    # --- hearing ----------------------------------------------------------------------------------

    def greet(self, route: bytes, machine: MachineId, hello: Hello) -> None:
        """A new connection, of a worker that is new or was there before."""
        before = self._by_machine.get(machine)
        if before and before.route == route and before.incarnation == hello.incarnation:
            before.heard_at = self._loop.time()
            self._welcome(before)  # said twice, for we were slow to answer
            return
        worker = Worker(machine, route, hello.incarnation, hello.slots, hello.offering)
        worker.host, worker.pid, worker.holding = hello.host, hello.pid, hello.holding
        worker.heard_at = self._loop.time()
        if before is not None:
            self._drop(before)
            if before.incarnation == hello.incarnation:
                worker.stored = before.stored
        self._by_route[route] = worker
        self._by_machine[machine] = worker
        log.info("worker is there", machine=machine, host=hello.host, slots=hello.slots,
                 holding=len(hello.holding), results=hello.unacknowledged)  # fmt: skip
        self._welcome(worker)
        self.listener.joined(worker)

    def _welcome(self, worker: Worker) -> None:
        lease = self.listener.lease_seconds(worker)
        self._send(worker, Welcome(self._release, self._heartbeat_seconds, lease, worker.machine))

    def expect(self, machine: MachineId) -> None:
        """Expect a machine that was held to be gone: its next word is as good as a Hello."""
        if worker := self._by_machine.get(machine):
            worker.silent = True

    def renumber(self, worker: Worker, machine: MachineId) -> None:
        """A worker started by hand is another machine from now on."""
        self._by_machine.pop(worker.machine, None)
        worker.machine = machine
        self._by_machine[machine] = worker
        self._welcome(worker)

    def heartbeat(self, worker: Worker, message: Heartbeat) -> None:
        self._heard(worker)
        worker.running, worker.queued = message.running, message.queued
        if worker.silent:  # only frozen, or cut off; what it queues may run elsewhere by now
            log.info("worker is heard again", machine=worker.machine)
            refused = Refused("your tasks were given to others; say what you hold", retry=True)
            self._router.send(worker.route, encode(refused))
            self._drop(worker)

    def results(self, worker: Worker, message: Results) -> None:
        self._heard(worker)
        if message.serial > worker.stored:  # else said again, before our answer came
            worker.stored = message.serial
            self._ended(worker, message.results)
        self._acks[worker] = message.serial

    def _ended(self, worker: Worker, results: Sequence[Result]) -> None:
        bags = {result.bag for result in results}
        for bag in bags:
            of_bag = [r for r in results if r.bag == bag] if len(bags) > 1 else results
            if work := self.listener.work(bag):
                work.ended_tasks(worker.machine, of_bag)
            else:
                self.listener.ended_late(worker, of_bag)

    def returned(self, worker: Worker, message: Returned) -> None:
        self._heard(worker)
        self.listener.returned(worker, message.attempts)

    def glimpse(self, worker: Worker, message: Glimpse) -> None:
        self._heard(worker)
        for asked in self._asked.pop((message.of, message.stream, message.offset), ()):
            if not asked.done():
                asked.set_result(message)

    def goodbye(self, worker: Worker, reason: str) -> None:
        self._drop(worker)
        log.info("worker leaves", machine=worker.machine, reason=reason)
        self.listener.left(worker, reason)

    def lost(self, route: bytes) -> None:
        """The connection is gone; the worker comes back, or falls silent in time."""
        self._router.forget(route)
        if worker := self._by_route.pop(route, None):
            log.info("connection lost", machine=worker.machine)
            self.listener.cut_off(worker)

    def end_turn(self) -> None:
        """Everything heard in a turn has been taken in: acknowledge it once it is durable."""
        if self._acks and self._acking is None:
            pause = self._acknowledged_at + _ACK_SECONDS - self._loop.time()
            self._acking = self._loop.call_later(max(0.0, pause), self._acknowledge_soon)

    def _acknowledge_soon(self) -> None:
        self._acking = None
        self._acknowledged_at = self._loop.time()
        acks, self._acks = self._acks, {}
        self._store.then(lambda: self._acknowledge(acks), patient=True)

    def _acknowledge(self, acks: dict[Worker, int]) -> None:
        for worker, serial in acks.items():
            self._send(worker, ResultsStored(serial))

    def _heard(self, worker: Worker) -> None:
        worker.heard_at = self._loop.time()

    def _drop(self, worker: Worker) -> None:
        self._by_route.pop(worker.route, None)
        self._dirty.pop(worker, None)
        self._router.forget(worker.route)
        if self._by_machine.get(worker.machine) is worker:
            del self._by_machine[worker.machine]

    # --- silence ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look for workers that have fallen silent. If it was we who slept, nobody is to blame."""
        now = self._loop.time()
        pause = self._heartbeat_seconds / 2
        slept = now - self._looked_at > pause + self._silence_seconds / 2
        self._looked_at = now
        self._looking = self._loop.call_later(pause, self._look)
        for worker in self.all():
            if slept:
                worker.heard_at = now
            elif now - worker.heard_at > self._silence_seconds and not worker.silent:
                worker.silent = True
                log.warning(
                    "worker is silent",
                    machine=worker.machine,
                    seconds=round(now - worker.heard_at, 1),
                )
                self.listener.silent(worker)
            elif worker.silent and now - worker.heard_at > _FORGET_AFTER * self._silence_seconds:
                self._drop(worker)

    # --- telling ----------------------------------------------------------------------------------

    def run(self, machine: MachineId, bag: BagId, orders: Iterable[tuple[TaskId, int]]) -> None:
        if worker := self._by_machine.get(machine):
            worker.orders.setdefault(bag, []).extend(orders)
            self._touch(worker)

    def kill(self, machine: MachineId, attempt: AttemptId) -> None:
        if worker := self._by_machine.get(machine):
            worker.kills.append(attempt)
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

    def lease(self, machine: MachineId, seconds: float) -> None:
        if worker := self._by_machine.get(machine):
            self._send(worker, Lease(max(0.0, seconds)))

    def stop(self, machine: MachineId, reason: str) -> bool:
        """False when there is no connection to tell it over."""
        worker = self._by_machine.get(machine)
        if worker is None or worker.route not in self._by_route:
            return False
        worker.stopping = True
        self._flush_one(worker)
        self._send(worker, Stop(reason))
        return True

    def pause(self, paused: bool) -> None:
        """Begin nothing new while the store cannot write."""
        self._paused = paused
        if not paused:
            self._flush()

    def _send(self, worker: Worker, message: Welcome | Lease | Look | Stop | ResultsStored) -> None:
        self._router.send(worker.route, encode(message))

    def _touch(self, worker: Worker) -> None:
        self._dirty[worker] = None
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self._paused:
            return
        if self._store.backlog > _MOST_BEHIND:
            self._flushing = True
            self._store.then(self._flush)
            return
        dirty, self._dirty = self._dirty, {}
        for worker in dirty:
            self._flush_one(worker)

    def _flush_one(self, worker: Worker) -> None:
        if worker.orders:
            orders, worker.orders = worker.orders, {}
            for bag, pairs in orders.items():
                self._send_orders(worker, bag, pairs)
        if worker.kills:
            kills, worker.kills = worker.kills, []
            self._router.send(worker.route, encode(Kill(tuple(kills))))

    def _send_orders(self, worker: Worker, bag: BagId, pairs: list[tuple[TaskId, int]]) -> None:
        work = self.listener.work(bag)
        if work is None:
            return
        if bag not in worker.bags:
            worker.bags.add(bag)
            self._router.send(worker.route, encode(work.spec(worker)))
        values = work.values
        for start in range(0, len(pairs), _MOST_ORDERS):
            part = pairs[start : start + _MOST_ORDERS]
            self._send_run(
                worker.route, bag, [Order(task, number, values(task)) for task, number in part]
            )

    def _send_run(self, route: bytes, bag: BagId, orders: list[Order]) -> None:
        frame = encode(Run(bag, tuple(orders)))
        if len(frame) > _LARGEST_RUN_BYTES and len(orders) > 1:
            half = len(orders) // 2
            self._send_run(route, bag, orders[:half])
            self._send_run(route, bag, orders[half:])
        else:
            self._router.send(route, frame)
