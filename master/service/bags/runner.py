"""Runs one bag live: events go to the engine and into the journal, its commands are carried out.

What costs money or ends machines is done only once the event behind it is durable; what workers
are told to run or kill goes out at once, for a restart finds out from them what they hold.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final, Protocol

import msgpack
import structlog

from bats.common.billing import charge
from bats.common.errors import StoreDamagedError
from bats.common.folders import output_path
from bats.common.messages import (
    TOLD_BY_WORKER,
    AttemptId,
    BagId,
    BagSpec,
    MachineId,
    Outcome,
    Result,
    TaskId,
)
from bats.common.money import NOTHING, Money
from bats.master.bag import RUNNING, Bag, ways_out
from bats.master.brain.books.machine import LEASE_SECONDS, MachineState
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.commands import (
    Command,
    Decided,
    EndBag,
    KillTask,
    Offer,
    Paused,
    Record,
    RenewLease,
    RunTasks,
    StartMachines,
    StopMachine,
    WakeAt,
)
from bats.master.brain.protocol.events import (
    Announced,
    AnyEnding,
    Cause,
    Charged,
    Ended,
    Event,
    Found,
    Gone,
    Joined,
    Retried,
    Returned,
    Silent,
    Woken,
)
from bats.master.brain.protocol.journal import plain
from bats.master.brain.protocol.numbering import by_hand
from bats.master.queries.replay import Replayed
from bats.master.service.bags.clock import BagClock
from bats.master.service.bags.explanations import why
from bats.master.service.bags.predictions import Predictions
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.service.transfers import Files, Wanted
from bats.master.store.blobs import is_sha256
from bats.master.store.rows import DecisionRow, MachineRow
from bats.master.store.store import Store

log = structlog.get_logger()

_pack = msgpack.Packer().pack


class Fleet(Protocol):
    """The fleet that starts and stops this bag's machines; they are named as seen from outside."""

    def start(self, runner: "Runner", cluster: int, machines: Sequence[MachineId]) -> None: ...

    def stop(self, machine: MachineId, reason: str) -> None: ...


@dataclass(slots=True)
class Surroundings:
    """The things that a runner works with."""

    store: Store
    workers: Workers
    fleet: Fleet
    files: Files
    ended: Callable[["Runner"], None]
    parked: Callable[["Runner"], None]  # it is paused, and its last machine is gone
    broke: Callable[["Runner", BaseException], None]
    freed: Callable[[MachineId], None]  # a worker started by hand has nothing to do here any more
    witness: Callable[[BagId, float, Event, list[Command]], None] | None = None  # sees every step


class Runner:
    def __init__(self, bag: Bag, around: Surroundings, began: float, replayed: Replayed) -> None:
        self.bag = bag
        self.engine = replayed.engine
        self.predictions = Predictions(self.engine)
        self.clock = BagClock(began, replayed.last, bag.anchor)
        bag.anchor = self.clock.anchor
        self.began = began
        self.machines: dict[MachineId, MachineRow] = {}
        self.revision = 0  # raised when something a waiting client cares for has changed
        self.changed = asyncio.Event()
        self._replayed: Replayed | None = replayed
        self._leases = replayed.leases
        self._around = around
        self._store = around.store
        self._workers = around.workers
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._busy = False
        self._wake: asyncio.TimerHandle | None = None
        self._over = self.engine.over

    @property
    def id(self) -> BagId:
        return self.bag.id

    def happen(self, event: Event) -> None:
        """All events go through here; those that arise meanwhile wait their turn."""
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._events:
                self._step(self._events.popleft())
        except StoreDamagedError:
            raise
        except Exception as error:
            self._events.clear()
            self._around.broke(self, error)
        finally:
            self._busy = False

    def _step(self, event: Event) -> None:
        now = self.clock()
        self._store.journal(self.id, now, _pack(plain(event)))
        commands = self.engine.handle(event, now)
        self.predictions.look()
        if self._around.witness is not None:
            self._around.witness(self.id, now, event, commands)
        for command in commands:
            _OBEY[type(command)](self, command)
        if type(event) is Ended:
            self._keep_the_rest(event, commands)
        if self.bag.state == RUNNING and self.paused and not self.engine.alive():
            self._around.parked(self)
        if self.engine.over != self._over:
            self._over = self.engine.over
            self._change()
            if self._over:
                self._around.ended(self)

    def close(self) -> None:
        """Close a bag of which nothing more is expected."""
        if self._wake:
            self._wake.cancel()
            self._wake = None
        self._change()

    def set_right(self) -> None:
        """Undo what the engine, hearing the journal, decided otherwise than another release did.

        From here on it is obeyed, so that what comes instead is really done.
        """
        replayed, self._replayed = self._replayed, None
        if replayed is None:
            return
        for words in replayed.words:
            self._decided(Decided(words))
        if not replayed.differs:
            return
        log.warning("this release would have decided otherwise", bag=self.id)
        unasked = replayed.unasked()
        if dropped := replayed.dropped():
            self.happen(Retried(tuple(dropped)))
        for machine in unasked:
            self.gone(machine, None, Cause.STOPPED, "it was never asked for")

    def resume(self) -> None:
        """Look at everything anew after a restart."""
        self.happen(Woken())

    # --- obeying ----------------------------------------------------------------------------------

    def _start_machines(self, command: StartMachines) -> None:
        offering = self.bag.settings.offerings[command.cluster]
        for machine in command.machines:
            row = MachineRow(
                machine, self.id, offering.name, offering.backend, requested=self.clock()
            )
            self.machines[machine] = row
            self._store.machine(row)
        self._store.then(lambda: self._around.fleet.start(self, command.cluster, command.machines))

    def _stop_machine(self, command: StopMachine) -> None:
        self._store.then(lambda: self._stop(command.machine, command.reason))

    def _stop(self, machine: MachineId, reason: str) -> None:
        if not by_hand(machine):
            self._around.fleet.stop(machine, reason)
            return
        # It belongs to whoever started it; here it only leaves the bag.
        self.gone(machine, None, Cause.STOPPED, reason)
        self._around.freed(machine)

    def _run_tasks(self, command: RunTasks) -> None:
        self._workers.run(command.machine, self.id, command.orders)

    def _kill_task(self, command: KillTask) -> None:
        attempt = AttemptId(self.id, command.task, command.attempt)
        self._workers.kill(command.machine, attempt)

    def _record(self, command: Record) -> None:
        results = [
            ending if isinstance(ending, Result) else self._made_up(command.machine, ending)
            for ending in command.endings
        ]
        self._store.results(results)
        for result in results:
            if result.outputs:
                self._fetch(result)

    def _fetch(self, result: Result) -> None:
        """Get what the task left, now that its result counts."""
        machine = result.machine
        wanted = []
        for name, sha256, size in result.outputs:
            path = output_path(result.task, result.attempt, name)
            if path is None or not is_sha256(sha256):
                log.warning("refused: an output's name", machine=machine, name=name[:200])
            else:
                wanted.append(Wanted(sha256, size, Path(self.bag.output_folder, path)))
        self._around.files.fetch(machine, wanted)

    def fetch_missing(self, results: Iterable[Result]) -> None:
        """Fetch after a restart what had been recorded and was not fetched yet."""
        for result in results:
            if (
                result.outputs
                and result.outcome is not Outcome.KILLED
                and self.wants(result.machine)
            ):
                self._fetch(result)

    def _keep_the_rest(self, event: Ended, commands: Iterable[Command]) -> None:
        """Results that settled nothing: copies that came later, failures that are tried again."""
        records = [command for command in commands if type(command) is Record]
        if sum(len(record.endings) for record in records) == len(event.endings):
            return
        recorded = {id(ending) for record in records for ending in record.endings}
        rest = [e for e in event.endings if isinstance(e, Result) and id(e) not in recorded]
        if copies := [result for result in rest if result.outcome is Outcome.DONE]:
            self._store.results(copies)
        if others := [result for result in rest if result.outcome is not Outcome.DONE]:
            self._store.attempts(others)
        for result in others:
            if result.outputs and result.outcome is not Outcome.KILLED:
                self._fetch(result)

    def _made_up(self, machine: MachineId, ending: AnyEnding) -> Result:
        """The result of a task that was given up with its machines: no worker tells it."""
        words = "given up: the machines that ran it broke down"
        told = Result(
            self.id, ending.task, ending.attempt, ending.outcome, 0, ending.seconds,
            0.0, 0.0, 0, 0, words, 0,
        )  # fmt: skip
        return self._whole(told, machine, self._cluster(machine), self.clock())

    def _whole(self, told: Result, machine: MachineId, cluster: str, now: float) -> Result:
        """The result that its worker told, with what only the master knows."""
        added = (machine, cluster, max(0.0, now - told.wall_seconds), self._why(told))
        return Result._make(told[:TOLD_BY_WORKER] + added)

    def _cluster(self, machine: MachineId) -> str:
        row = self.machines.get(machine)
        return row.offering if row else ""

    def _renew_lease(self, command: RenewLease) -> None:
        machine = command.machine
        self._leases[machine] = command.until
        self._store.then(lambda: self._workers.lease(machine, self.lease_seconds(machine)))

    def renew_leases(self) -> None:
        """Renew leases by the clock: a reserve may reach further than a dead master should cost."""
        for machine in self._leases:
            if self.wants(machine):
                self._workers.lease(machine, self.lease_seconds(machine))

    def _wake_at(self, command: WakeAt) -> None:
        if self._wake:
            self._wake.cancel()
        pause = max(0.0, command.at - self.clock())
        self._wake = self._loop.call_later(pause, self.happen, Woken())

    def _offer(self, command: Offer) -> None:
        log.info("schedules", bag=self.id, offered=len(command.schedules))
        self._change()

    def _decided(self, command: Decided) -> None:
        self._store.decision(DecisionRow(self.id, self.engine.headline().now, command.words))
        log.info("decided", bag=self.id, words=command.words)
        self._change()

    def _paused(self, command: Paused) -> None:
        pause = command.pause
        words = f"paused: {pause.reason}. {ways_out(self.id, pause.task, again=pause.again)}"
        self._store.decision(DecisionRow(self.id, self.engine.headline().now, words))
        log.warning("bag is paused", bag=self.id, words=words)
        self._change()

    def _end_bag(self, command: EndBag) -> None:
        words = f"{command.outcome.value}: {command.words}"
        self._store.decision(DecisionRow(self.id, self.engine.headline().now, words))
        log.info("bag ends", bag=self.id, outcome=command.outcome.value, words=command.words)
        self.bag.words = command.words
        self._over = False  # one that goes on only to end at once has ended anew
        self._change()

    def _change(self) -> None:
        self.revision += 1
        self.changed.set()
        self.changed = asyncio.Event()

    # --- what the world says ----------------------------------------------------------------------

    def joined(self, worker: Worker, cluster: int = -1) -> None:
        machine = worker.machine
        row = self.machines.get(machine)
        if row is None and cluster >= 0:
            offering = self.bag.settings.offerings[cluster]
            row = MachineRow(machine, BagId(0), offering.name, "by hand", requested=self.clock())
        if row is not None:
            address = row.address or f"{worker.host} pid {worker.pid}"
            row = row._replace(joined=row.joined or self.clock(), address=address)
            self.machines[machine] = row
            self._store.machine(row)
        holding = [(one.task, one.attempt) for one in worker.holding if one.bag == self.id]
        places = max(1, worker.slots // self.bag.settings.task_slots)
        self.happen(Joined(machine, places, tuple(holding), cluster))
        for attempt in worker.holding:
            if attempt.bag != self.id:
                self._workers.kill(machine, attempt)
        self._change()

    def ended_tasks(self, machine: MachineId, results: Sequence[Result]) -> None:
        """Take in results of this bag, of tasks that nobody may wait for any more.

        One counts only if this machine was given the attempt and has not told its end before.
        """
        now, cluster = self.clock(), self._cluster(machine)
        counted = []
        invented = 0
        for result in results:
            ordered_at = self.engine.ordered_at(machine, result.task, result.attempt)
            if ordered_at is not None:
                known = held_to(result, now - ordered_at)
                counted.append(self._whole(known, machine, cluster, now))
            elif not self.engine.was_sent(result.task, result.attempt):
                invented += 1
        if counted:
            self.happen(Ended(machine, tuple(counted)))
        if invented:
            log.warning("refused: results of what nobody was given", machine=machine, n=invented)
            self._stop(machine, "it told results of what it was not given")

    def _why(self, result: Result) -> str:
        """Words for a failure; none for a success: they are many, and parameters cost time."""
        if result.outcome == Outcome.DONE:
            return ""
        return why(result, self.bag.sweep.parameters(result.task))

    async def glimpse(
        self, task: TaskId, attempt: int, stream: str, offset: int
    ) -> tuple[int, bytes, int] | None:
        """The attempt (0: any) that runs, what it has written from there on, and how much in all.

        None when no such attempt runs.
        """
        for one in self.engine.task(task).running:
            if attempt not in {0, one.attempt}:
                continue
            of = AttemptId(self.id, task, one.attempt)
            seen = await self._workers.look(one.machine, of, stream, offset)
            return (one.attempt, seen.data, seen.total) if seen else (one.attempt, b"", offset)
        return None

    def settled(self, task: TaskId) -> bool:
        """True if the task will not run (again)."""
        return self.engine.task(task).state not in {TaskState.WAITING, TaskState.RUNNING}

    def returned(self, machine: MachineId, tasks: tuple[TaskId, ...]) -> None:
        self.happen(Returned(machine, tasks))

    def silent(self, machine: MachineId) -> None:
        self.happen(Silent(machine))

    def found(self, machine: MachineId, unpaid_since: float | None) -> bool:
        """A machine that was held to be gone lives; whether the bag can pay for it and takes it."""
        self.happen(Found(machine, unpaid_since))
        taken = self.wants(machine)
        if taken:
            row = self.machines[machine]._replace(gone=None, reason="")
            self.machines[machine] = row
            self._store.machine(row)
        self._change()
        return taken

    def announced(self, machine: MachineId, reason: str) -> None:
        """The provider takes it away soon."""
        self.happen(Announced(machine, reason))
        self._change()

    def charged(self, machine: MachineId, since: float, address: str) -> None:
        row = self.machines[machine]._replace(charged_since=since, address=address)
        self.machines[machine] = row
        self._store.machine(row)
        self.happen(Charged(machine, since))

    def knows_key(self, machine: MachineId, public: str) -> None:
        """The key that this machine is admitted with, now and after a restart of the master."""
        row = self.machines[machine]._replace(public_key=public.encode())
        self.machines[machine] = row
        self._store.machine(row)

    def gone(self, machine: MachineId, at: float | None, cause: Cause, detail: str) -> None:
        """`at` None: just now."""
        row = self.machines.get(machine)
        now = self.clock()
        at = now if at is None else at
        if row is not None and row.gone is None:
            known = self.engine.machine(machine)
            since = known.charged_since if known else None
            cost = charge(known.offering, at - since) if known and since is not None else NOTHING
            cost = Money(row.cost + cost)  # of earlier lives, if it was once held to be gone
            self.machines[machine] = row._replace(gone=at, reason=detail or cause.value, cost=cost)
            self._store.machine(self.machines[machine])
        self.happen(Gone(machine, at, cause, detail.partition("\n")[0]))
        self._change()

    def vacate(self, reason: str) -> None:
        """Stop all of its machines, whatever they are paid for."""
        for machine in self.engine.alive():
            self._stop(machine.id, reason)

    def lease_seconds(self, machine: MachineId) -> float:
        """The seconds that this machine may live from now, as far as it is paid for."""
        until, now = self._leases.get(machine), self.clock()
        known = self.engine.machine(machine, now)
        if known is None or known.offering.free:
            return LEASE_SECONDS if until is None else max(0.0, until - now)
        if until is None:
            return known.lease_seconds
        unheard = max(now + LEASE_SECONDS, known.billed_until)
        return max(0.0, min(until, unheard) - now)

    def wants(self, machine: MachineId) -> bool:
        """True if this machine has a place in the engine's books, and is not to stop."""
        known = self.engine.machine(machine)
        return known is not None and known.wanted

    def has_others_than(self, cluster: int) -> bool:
        """True if machines of other offerings are at work, so that it goes on without this one."""
        return any(
            machine.cluster != cluster and machine.state is MachineState.UP
            for machine in self.engine.alive()
        )

    @property
    def busy(self) -> bool:
        return self.engine.headline().phase not in (Phase.ENDING, Phase.ENDED)

    @property
    def paused(self) -> bool:
        return self.engine.headline().pause is not None

    # --- what workers are told of the bag ---------------------------------------------------------

    def spec(self, worker: Worker) -> BagSpec:
        row = self.machines.get(worker.machine)
        return self.bag.spec(row.offering if row else "")

    def values(self, task: TaskId) -> tuple[str, ...]:
        return self.bag.sweep.values(task)


_OBEY: Final[Mapping[type, Callable[[Runner, Any], None]]] = {
    StartMachines: Runner._start_machines,  # noqa: SLF001
    StopMachine: Runner._stop_machine,  # noqa: SLF001
    RunTasks: Runner._run_tasks,  # noqa: SLF001
    KillTask: Runner._kill_task,  # noqa: SLF001
    Record: Runner._record,  # noqa: SLF001
    RenewLease: Runner._renew_lease,  # noqa: SLF001
    WakeAt: Runner._wake_at,  # noqa: SLF001
    Offer: Runner._offer,  # noqa: SLF001
    Decided: Runner._decided,  # noqa: SLF001
    Paused: Runner._paused,  # noqa: SLF001
    EndBag: Runner._end_bag,  # noqa: SLF001
}


def held_to(told: Result, limit: float) -> Result:
    """A result with times that can be: it ran no longer than by the master's own clock."""
    if 0 <= told.wall_seconds <= limit and isfinite(told.user_seconds + told.system_seconds):
        return told
    wall = told.wall_seconds if 0 <= told.wall_seconds <= limit else max(0.0, limit)
    user, system = (
        seconds if 0 <= seconds < inf else 0.0
        for seconds in (told.user_seconds, told.system_seconds)
    )
    return told._replace(wall_seconds=wall, user_seconds=user, system_seconds=system)
