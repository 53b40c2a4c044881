"""The virtual-time driver of the brain: a small world of machines that obeys its commands."""

import heapq
import random
from collections.abc import Callable, Mapping
from dataclasses import field
from itertools import count
from typing import Any, Protocol

from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.records import dataclass
from bats.master.brain.engine import Engine
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.commands import (
    Command,
    Decided,
    EndBag,
    Foretell,
    KillTask,
    Offer,
    Paused,
    Record,
    RenewLease,
    RunTasks,
    StartMachines,
    StopMachine,
    WakeAt,
    Weigh,
)
from bats.master.brain.protocol.events import (
    AnyEnding,
    Begin,
    Cause,
    Charged,
    Collecting,
    Ended,
    Ending,
    Event,
    Foretold,
    Gone,
    Joined,
    Woken,
)
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.unreliable.weighing import weigh

NEVER = float("inf")


class Runtimes(Protocol):
    def __call__(self, task: TaskId, cluster: int) -> float:
        """True seconds that the task takes on a machine of that cluster."""
        ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """The unkindness of the world. All times in seconds; chance comes from the world's own seed."""

    start_seconds: Callable[[random.Random, int], float] = lambda _rng, _cluster: 0.0
    boot_seconds: float = 0.0  # charged, but the worker has not joined yet
    stop_seconds: float = 0.0
    life_seconds: Callable[[random.Random, int], float] = lambda _rng, _cluster: NEVER
    start_fails: float = 0.0  # the share of machines that never join
    collect_seconds: float = 0.0  # from a task's end until what it left is here
    turnaround: Callable[[random.Random, int], float] | None = None  # of an attempt, by cluster
    silent: Callable[[random.Random, int], bool] = lambda _rng, _cluster: False
    """True for an attempt whose machine will never answer again; it is paid until it is stopped."""
    task_fails: float = 0.0  # the share of attempts that end with an error
    error: Callable[[TaskId, float], str] = lambda _task, _now: ""  # what one begun then fails with
    answers: Callable[[tuple[Schedule, ...], float], tuple[float, Event] | None] = (
        lambda _schedules, _now: None
    )  # when a user who is asked answers what


@dataclass(slots=True)
class Worker:
    """A machine of the simulated world."""

    cluster: int
    slots: int
    queue: list[tuple[TaskId, int]] = field(default_factory=list)
    running: dict[tuple[TaskId, int], float] = field(default_factory=dict)  # started at
    joined: bool = False
    silent: bool = False


@dataclass(slots=True)
class History:
    """Events as the world saw them; independent of the engine's books."""

    events: list[tuple[float, Event]] = field(default_factory=list)
    commands: list[list[Command]] = field(default_factory=list)
    records: dict[TaskId, list[AnyEnding]] = field(default_factory=dict)
    decisions: list[tuple[float, str]] = field(default_factory=list)
    offers: list[tuple[float, tuple[Schedule, ...]]] = field(default_factory=list)
    uptimes: dict[MachineId, tuple[int, float, float]] = field(default_factory=dict)
    ended_at: float | None = None
    end: EndBag | None = None


class Agenda:
    """All that is to happen, in the order of time; of what comes at once, as it was put down."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, bool, int, Callable[[], None]]] = []
        self._order = count()

    def put(self, at: float, what: Callable[[], None], *, last: bool = False) -> None:
        """`last`: after all else that happens at that time, and what comes of it at once."""
        heapq.heappush(self._heap, (at, last, next(self._order), what))

    @property
    def next_at(self) -> float:
        return self._heap[0][0] if self._heap else NEVER

    def take(self) -> Callable[[], None]:
        return heapq.heappop(self._heap)[3]


class Simulation:
    """Runs one bag to its end in virtual time; several may have one agenda."""

    def __init__(
        self,
        settings: Settings,
        runtimes: Runtimes,
        conditions: Conditions | None = None,
        seed: int = 0,
        *,
        keep_events: bool = False,
        after_event: Callable[[Engine], None] = lambda _engine: None,
        agenda: Agenda | None = None,
        began: float = 0.0,
        engine: Engine | None = None,
        foretell: Callable[[Engine, Foretell], Foretold] | None = None,
    ) -> None:
        """`engine` is one that has begun elsewhere; `foretell` is for settings with foresight."""
        self.engine = engine or Engine(settings, runtimes)
        self._foreteller = foretell
        self.history = History()
        self.began = began  # by the agenda
        self._agenda = agenda or Agenda()
        self.settings = settings
        self._runtimes = runtimes
        self._conditions = conditions or Conditions()
        self._rng = random.Random(seed)
        self._workers: dict[MachineId, Worker] = {}
        self._since: dict[MachineId, float] = {}
        self._wake: float | None = None
        self._keep = keep_events
        self._after_event = after_event
        self._obey: Mapping[type, Callable[[Any, float], None]] = {
            StartMachines: self._start_machines,
            StopMachine: self._stop_machine,
            RunTasks: self._run_tasks,
            KillTask: self._kill_task,
            WakeAt: self._wake_at,
            Offer: self._offer,
            Foretell: self._foretell,
            Weigh: self._weigh,
            Record: self._record,
            Decided: self._decided,
            Paused: self._paused,
            EndBag: self._end_bag,
            RenewLease: self._renew_lease,
        }

    def tell(self, event: Event, at: float) -> None:
        """A word of the user's, after all else that happens at that time."""
        self._at(at, lambda _at: event, last=True)

    def run(self, until: float = NEVER) -> History:
        self.begin()
        return self.go_on(until)

    def begin(self) -> None:
        self._at(0.0, lambda _now: Begin())

    def go_on(self, until: float = NEVER) -> History:
        """Go on until the bag is over, again if it was and is told to go on."""
        while self._agenda.next_at < NEVER and not self.engine.over:
            if self._agenda.next_at > until:
                break
            self._agenda.take()()
        return self.history

    def deliver(self, event: Event, now: float) -> None:
        commands = self.engine.handle(event, now)
        if self._keep:
            self.history.events.append((now, event))
            self.history.commands.append(commands)
        for command in commands:
            self._obey[type(command)](command, now)
        self._after_event(self.engine)

    def _at(self, at: float, make: Callable[[float], Event | None], *, last: bool = False) -> None:
        def happen() -> None:
            event = None if self.engine.over else make(at)
            if event is not None:
                self.deliver(event, at)

        self._agenda.put(self.began + at, happen, last=last)

    def put(self, machine: MachineId, cluster: int, slots: int) -> None:
        """A machine that nobody asked for has so many slots; whoever puts it tells the engine."""
        self._workers.setdefault(machine, Worker(cluster, slots)).slots = slots

    def running(self, machine: MachineId) -> int:
        """The number of tasks that run there."""
        worker = self._workers.get(machine)
        return len(worker.running) if worker else 0

    # --- obeying ---------------------------------------------------------------------------------

    def _start_machines(self, command: StartMachines, now: float) -> None:
        c = self._conditions
        for machine in command.machines:
            self._workers[machine] = Worker(
                command.cluster, self.settings.offerings[command.cluster].slots
            )
            delay = c.start_seconds(self._rng, command.cluster)
            if self._rng.random() < c.start_fails:
                self._at(now + delay, self._leaves(machine, Cause.FAILED, "did not start"))
                continue
            self._arrives(machine, now + delay, now + delay + c.boot_seconds)
            self._may_be_lost(machine, command.cluster, now + delay)

    def _may_be_lost(self, machine: MachineId, cluster: int, since: float) -> None:
        """Have the machine end with its life, which begins then."""
        life = self._conditions.life_seconds(self._rng, cluster)
        if life < NEVER:
            reliable = self.settings.offerings[cluster].reliable
            cause, words = (Cause.FAILED, "broke") if reliable else (Cause.PREEMPTED, "taken away")
            self._dies(machine, since + life, cause, words)

    def _dies(self, machine: MachineId, at: float, cause: Cause, detail: str) -> None:
        self._at(at, self._leaves(machine, cause, detail))

    def _arrives(self, machine: MachineId, charged: float, joins: float) -> None:
        self._at(charged, lambda at: self._charge(machine, at))
        self._at(joins, lambda _at: self._join(machine))

    def _charge(self, machine: MachineId, at: float) -> Event | None:
        if machine not in self._workers:
            return None
        self._since[machine] = at
        return Charged(machine, at)

    def _join(self, machine: MachineId) -> Event | None:
        worker = self._workers.get(machine)
        if worker is None:
            return None
        worker.joined = True
        return Joined(machine, worker.slots)

    def _leaves(
        self, machine: MachineId, cause: Cause, detail: str
    ) -> Callable[[float], Event | None]:
        def leave(at: float) -> Event | None:
            worker = self._workers.pop(machine, None)
            if worker is None:
                return None
            if machine in self._since:
                self.history.uptimes[machine] = (worker.cluster, self._since[machine], at)
            return Gone(machine, at, cause, detail)

        return leave

    def _stop_machine(self, command: StopMachine, now: float) -> None:
        gone_at = now + self._conditions.stop_seconds
        self._at(gone_at, self._leaves(command.machine, Cause.STOPPED, command.reason))

    def _run_tasks(self, command: RunTasks, now: float) -> None:
        worker = self._workers.get(command.machine)
        if worker is not None:
            worker.queue.extend(command.orders)
            self._advance(command.machine, worker, now)

    def _advance(self, machine: MachineId, worker: Worker, now: float) -> None:
        while worker.queue and len(worker.running) < worker.slots:
            task, attempt = worker.queue.pop(0)
            worker.running[task, attempt] = now
            if self._conditions.silent(self._rng, worker.cluster):
                worker.silent = True
                continue
            seconds = self._seconds(task, worker.cluster)
            fails = self._conditions.task_fails and self._rng.random() < self._conditions.task_fails
            why = self._conditions.error(task, now)
            outcome = Outcome.FAILED if fails or why else Outcome.DONE
            self._at(now + seconds, self._finishes(machine, task, attempt, outcome, why))

    def _seconds(self, task: TaskId, cluster: int) -> float:
        if self._conditions.turnaround is not None:
            return self._conditions.turnaround(self._rng, cluster)
        return self._runtimes(task, cluster)

    def _finishes(
        self, machine: MachineId, task: TaskId, attempt: int, outcome: Outcome, why: str = ""
    ) -> Callable[[float], Event | None]:
        def finish(at: float) -> Event | None:
            worker = self._workers.get(machine)
            if worker is None or (task, attempt) not in worker.running or worker.silent:
                return None
            started = worker.running.pop((task, attempt))
            self._advance(machine, worker, at)
            ended = Ended(machine, (Ending(task, attempt, outcome, at - started, why),))
            delay = self._conditions.collect_seconds
            if not delay or outcome is not Outcome.DONE:
                return ended
            self._at(at + delay, lambda _at: ended if machine in self._workers else None)
            return Collecting(machine, ((task, attempt),))

        return finish

    def _kill_task(self, command: KillTask, now: float) -> None:
        worker = self._workers.get(command.machine)
        key = (command.task, command.attempt)
        if worker is None:
            return
        if worker.silent:
            return
        if key in worker.running:
            self._at(
                now,
                self._finishes(command.machine, command.task, command.attempt, Outcome.KILLED),
            )
        elif key in worker.queue:
            worker.queue.remove(key)
            ending = Ending(command.task, command.attempt, Outcome.KILLED, 0.0)
            self._at(now, lambda _at: Ended(command.machine, (ending,)))

    def _wake_at(self, command: WakeAt, _now: float) -> None:
        self._wake = command.at

        def wake(at: float) -> Event | None:
            return Woken() if at == self._wake else None

        self._at(command.at, wake)

    def _offer(self, command: Offer, now: float) -> None:
        self.history.offers.append((now, command.schedules))
        answer = self._conditions.answers(command.schedules, now)
        if answer is not None:
            at, event = answer
            self._at(max(at, now), lambda _at: event, last=True)

    def _foretell(self, command: Foretell, now: float) -> None:
        """Answered in no time; a live master takes some seconds, in which paid time is used."""
        if self._foreteller is None:
            raise BrokenInvariantError("Settings with foresight need somebody who foretells.")
        told = self._foreteller(self.engine, command)
        self._at(now, lambda _at: told, last=True)

    def _weigh(self, command: Weigh, now: float) -> None:
        told = weigh(command.asked)
        self._at(now, lambda _at: told, last=True)

    def _record(self, command: Record, _now: float) -> None:
        for ending in command.endings:
            self.history.records.setdefault(ending.task, []).append(ending)

    def _decided(self, command: Decided, now: float) -> None:
        self.history.decisions.append((now, command.words))

    def _paused(self, command: Paused, now: float) -> None:
        self.history.decisions.append((now, f"paused: {command.pause.reason}"))

    def _end_bag(self, command: EndBag, now: float) -> None:
        self.history.end = command
        self.history.ended_at = now

    def _renew_lease(self, _command: RenewLease, _now: float) -> None:
        """Simulated machines never lose their master."""
