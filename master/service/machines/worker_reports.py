"""Words of workers: they join, beat, report results, leave, and are missed when they are silent."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import structlog

from bats.common.capacity.resources import Resources
from bats.common.messages import (
    AttemptId,
    BagId,
    Glimpse,
    Heartbeat,
    Hello,
    MachineId,
    Result,
    Results,
    Returned,
)
from bats.master.service.bags.clock import boot_clock
from bats.master.service.machines.comparison import Comparison
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.store.store import Store

_FORGET_AFTER: Final = 20  # times the silence; who comes back then says Hello

log = structlog.get_logger()


class RunningBag(Protocol):
    """A bag, as far as it is told of results."""

    counted: int  # results, so far

    def ended_tasks(self, machine: MachineId, results: Sequence[Result]) -> Iterable[AttemptId]:
        """The attempts whose files are to be waited for before their results may be forgotten."""
        ...


class Listener(Protocol):
    """A listener to what workers say; the machine is always the one whose key said it."""

    def work(self, bag: BagId) -> RunningBag | None: ...

    def joined(self, worker: Worker) -> None: ...

    def silent(self, worker: Worker) -> None: ...

    def cut_off(self, worker: Worker) -> None: ...

    def ended_late(self, worker: Worker, results: Sequence[Result]) -> None: ...

    def returned(self, worker: Worker, attempts: tuple[AttemptId, ...]) -> None: ...

    def left(self, worker: Worker, reason: str) -> None: ...

    def held(self, worker: Worker) -> frozenset[AttemptId] | None: ...

    def lease_seconds(self, worker: Worker) -> float: ...


class WorkerReports:
    def __init__(
        self,
        workers: Workers,
        store: Store,
        listener: Listener,
        heartbeat_seconds: float,
        silence_seconds: float,
    ) -> None:
        self._workers = workers
        self._store = store
        self._listener = listener
        self._comparison = Comparison(workers, listener)
        self._look_seconds = heartbeat_seconds / 2
        self._silence_seconds = silence_seconds
        self._loop = asyncio.get_running_loop()
        self._looking = self._loop.call_later(self._look_seconds, self._look)
        self._looked_at = self._loop.time()

    def close(self) -> None:
        self._looking.cancel()
        self._workers.acks.close()

    def greet(self, route: bytes, machine: MachineId, hello: Hello) -> None:
        """A new connection, of a worker that is new or was there before."""
        before = self._workers.of(machine)
        again = before is not None and before.incarnation == hello.incarnation
        if before is not None and again and before.route == route:
            self._heard(before, hello.stamp)
            self._welcome(before)  # said twice, for we were slow to answer
            return
        size = Resources(hello.slots, hello.memory_bytes, hello.gpus)
        worker = Worker(machine, route, hello.incarnation, size, hello.offering)
        worker.host, worker.pid, worker.holding = hello.host, hello.pid, hello.holding
        worker.limits = hello.limits
        if before is not None and again:
            worker.stored, worker.owed = before.stored, before.owed
        self._heard(worker, hello.stamp)
        self._workers.add(worker)
        log.info("worker is there", machine=machine, host=hello.host, slots=hello.slots,
                 holding=len(hello.holding), results=hello.unacknowledged)  # fmt: skip
        self._welcome(worker)
        self._listener.joined(worker)

    def heartbeat(self, worker: Worker, message: Heartbeat) -> None:
        self._heard(worker, message.stamp)
        worker.running = message.running
        if worker.silent:  # only frozen, or cut off; what it queues may run elsewhere by now
            log.info("worker is heard again", machine=worker.machine)
            self._workers.refuse(worker, "your tasks were given to others; say what you hold")
            return
        if message.ended:
            self._workers.acks.add(worker)  # our answer may have been lost
        self._comparison.look(worker, message)

    def results(self, worker: Worker, message: Results) -> bool:
        """True if one of them at least counts."""
        self._heard(worker)
        if worker.stored and message.serial > worker.stored + 1:
            self._workers.refuse(worker, "a batch of results is missing; say them again")
            return False
        counted = False
        if message.serial > worker.stored:  # else said again, before our answer came
            worker.stored = message.serial
            counted = self._ended(worker, message.results)
        self._workers.acks.add(worker)
        return counted

    def _ended(self, worker: Worker, results: Sequence[Result]) -> bool:
        counted = False
        bags = {result.bag for result in results}
        for bag in bags:
            of_bag = [r for r in results if r.bag == bag] if len(bags) > 1 else results
            if work := self._listener.work(bag):
                before = work.counted
                coming = work.ended_tasks(worker.machine, of_bag)
                counted |= work.counted > before
                worker.owed.update(dict.fromkeys(coming, worker.stored))
            else:
                self._listener.ended_late(worker, of_bag)
        return counted

    def returned(self, worker: Worker, message: Returned) -> None:
        self._heard(worker)
        worker.kinds.clear()  # it may be that it was never told how to run them
        self._listener.returned(worker, message.attempts)

    def glimpse(self, worker: Worker, message: Glimpse) -> None:
        self._heard(worker)
        self._workers.answered(message)

    def goodbye(self, worker: Worker, reason: str) -> None:
        self._comparison.forget(worker.machine)
        self._workers.drop(worker)
        log.info("worker leaves", machine=worker.machine, reason=reason)
        self._listener.left(worker, reason)

    def turn_out(self, machine: MachineId, reason: str) -> None:
        """Listen no more to who is not to come back; its tasks are given to others."""
        if worker := self._workers.of(machine):
            self._workers.refuse(worker, reason, retry=False)
            log.warning("worker turned out", machine=machine, reason=reason)
            self._listener.left(worker, reason)

    def lost(self, route: bytes) -> None:
        """The connection is gone; the worker comes back, or falls silent in time."""
        if worker := self._workers.lost(route):
            log.info("connection lost", machine=worker.machine)
            self._listener.cut_off(worker)

    def end_turn(self) -> None:
        """Everything heard in a turn has been taken in."""
        self._workers.acks.soon()

    def _welcome(self, worker: Worker) -> None:
        self._workers.welcome(worker, self._listener.lease_seconds(worker))

    def _heard(self, worker: Worker, stamp: float = 0.0) -> None:
        worker.heard_at = self._loop.time()
        if stamp:
            worker.tells_clock(stamp, boot_clock())

    # --- silence ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look for workers that have fallen silent. If it was we who slept, nobody is to blame."""
        now = self._loop.time()
        slept = now - self._looked_at > self._look_seconds + self._silence_seconds / 2
        self._looked_at = now
        self._looking = self._loop.call_later(self._look_seconds, self._look)
        for worker in self._workers.all():
            if slept:
                worker.heard_at = now
            elif now - worker.heard_at > self._silence_seconds and not worker.silent:
                worker.silent = True
                log.warning(
                    "worker is silent",
                    machine=worker.machine,
                    seconds=round(now - worker.heard_at, 1),
                )
                self._listener.silent(worker)
            elif worker.silent and now - worker.heard_at > _FORGET_AFTER * self._silence_seconds:
                self._workers.drop(worker)
