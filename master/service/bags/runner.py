"""Runs one bag live: events go to the engine and into the journal, its commands are carried out."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final

import msgpack
import structlog

from bats.common.errors import StoreDamagedError
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
from bats.common.offering import Offering
from bats.master.bag import Bag, Books
from bats.master.bag_states import RUNNING
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.protocol.commands import Command, EndBag, Record
from bats.master.brain.protocol.events import (
    AnyEnding,
    Begin,
    Cause,
    Collecting,
    Ended,
    Event,
    Retried,
    Returned,
    SetAside,
    Woken,
)
from bats.master.brain.protocol.journal import plain as plain_event
from bats.master.brain.protocol.numbering import serves_all
from bats.master.brain.views.told.facts import MachineFacts
from bats.master.brain_version import brain_version
from bats.master.plain_data import plain
from bats.master.queries.replay import Replayed
from bats.master.service.bags.bag_machines import BagMachines
from bats.master.service.bags.clock import BagClock
from bats.master.service.bags.collection import Collection, UnfitOutputError
from bats.master.service.bags.errands import Errands
from bats.master.service.bags.inheritance import inherited
from bats.master.service.bags.predictions import Predictions
from bats.master.service.bags.surroundings import Surroundings
from bats.master.service.machines.worker import Kind, Worker
from bats.master.service.telling.explanations import why
from bats.master.service.telling.task_limits import TaskLimits
from bats.master.service.telling.user_notices import Notifier
from bats.master.store.rows import MachineRow

log = structlog.get_logger()

_LONGEST_EXCERPT: Final = 128 << 10  # our workers send half of that at the most
_LOOKED_AT_EVENTS: Final = 500
_pack = msgpack.Packer().pack


class Runner:
    def __init__(
        self,
        bag: Bag,
        around: Surroundings,
        began: float,
        replayed: Replayed,
        machines: Iterable[MachineRow] = (),
    ) -> None:
        """`machines`: those that the store knows of the bag, and all that were started by hand."""
        self.bag = bag
        self.engine = replayed.engine
        self.predictions = Predictions(self.engine)
        self.clock = BagClock(began, replayed.last, bag.anchor)
        bag.anchor = self.clock.anchor
        self.began = began
        self.counted = 0  # results that workers told of what they ran to its end
        self.revision = 0  # raised when something a waiting client cares for has changed
        self.changed = asyncio.Event()
        self._replayed: Replayed | None = replayed
        self._heard = replayed.events  # events in the journal
        self._around = around
        self._store = around.store
        self._workers = around.workers
        self.collection = Collection(
            around.files,
            Path(bag.output_folder),
            lambda task: self.engine.task(task).state is not TaskState.DONE,
            self._collected,
            around.caps,
        )
        self.machines = BagMachines(
            bag,
            self.engine,
            self.clock,
            around.store,
            around.workers,
            self.collection,
            {row.id: row for row in machines},
            replayed.leases,
            self.happen,
            self.change,
        )
        self._errands = Errands(self, around)
        self._limits = TaskLimits(self._errands.note)
        self._events: deque[Event] = deque()
        self._busy = False
        self._over = self.engine.over and bag.state != RUNNING  # else its end is yet to be noted
        if replayed.end is not None:
            bag.words = replayed.end.words
        told_by = dict.fromkeys(filter(None, (bag.sweep.notify, around.notify)))
        self._notifier = Notifier(
            bag, self.engine, list(told_by), around.messenger, self._errands.note, self.clock
        )

    @property
    def id(self) -> BagId:
        return self.bag.id

    # --- what it is to those who start and stop its machines (`Owner`) ---------------------------

    @property
    def offerings(self) -> Sequence[Offering]:
        return self.bag.settings.offerings

    @property
    def task_slots(self) -> int:
        return self.bag.settings.task_slots

    def known(self, machine: MachineId) -> MachineFacts | None:
        return self.engine.machine(machine)

    def living(self) -> list[MachineFacts]:
        return [one for one in self.engine.alive() if not serves_all(one.id)]

    def waiting_for(self, machine: MachineId) -> "list[Runner]":
        own = [self] if self.engine.waits_for(machine) else []
        return [*own, *(one for one in self._around.waiting_for(machine) if one is not self)]

    def set_aside(self, cluster: int, reason: str) -> None:
        self.happen(SetAside(cluster, reason))

    # ----------------------------------------------------------------------------------------------

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
        self._around.looked(self)

    def _step(self, event: Event) -> None:
        now = self.clock()
        self._store.journal(self.id, now, _pack(plain_event(event)))
        commands = self.engine.handle(event, now)
        self.predictions.look()
        self._heard += 1
        if self._heard % _LOOKED_AT_EVENTS == 0 or type(event) is Begin:
            self.look_at_books()
            self._store.bag_state(self.id, self.bag.state, self.bag.summary({}), self.bag.ended)
        if self._around.witness is not None:
            self._around.witness(self.id, now, event, commands)
        for command in commands:
            self._obey(command)
        if type(event) is Ended:
            self._keep_the_rest(event, commands)
        self._notifier.look(now)
        if self.bag.state == RUNNING and self.paused and not self.engine.alive():
            self._around.parked(self)
        if self.engine.over != self._over:
            self._over = self.engine.over
            self.change()
            if self._over:
                self._around.ended(self)

    def _obey(self, command: Command) -> None:
        match command:
            case Record():
                self._record(command)
            case EndBag():
                self._over = False  # one that goes on only to end at once has ended anew
                self._errands.run(command)
            case _:
                self._errands.run(command)

    def look_at_books(self) -> None:
        """Note what the books say after so many events, for who replays the journal."""
        self.bag.books = Books(brain_version(), self._heard, self.engine.digest())

    def close(self) -> None:
        """Close a bag of which nothing more is expected."""
        self._errands.close()
        self._notifier.close()
        self.change()

    def set_right(self) -> None:
        """Undo what the engine, hearing the journal, decided otherwise than another release did.

        From here on it is obeyed, so that what comes instead is really done.
        """
        replayed, self._replayed = self._replayed, None
        if replayed is None:
            return
        for words in replayed.words:
            self._errands.note(words)
        if not replayed.differs:
            return
        log.warning("this release would have decided otherwise", bag=self.id)
        unasked = replayed.unasked()
        if dropped := replayed.dropped():
            self.happen(Retried(tuple(dropped)))
        for machine in unasked:
            self.machines.gone(machine, None, Cause.STOPPED, "it was never asked for")

    def resume(self) -> None:
        """Look at everything anew after a restart; what was being foretold is asked again."""
        self.happen(Woken())
        for asked in (self.engine.unanswered, self.engine.unweighed):
            if asked is not None:
                self._errands.run(asked)

    def change(self) -> None:
        """Something that waiting clients care for is new."""
        self.revision += 1
        self.changed.set()
        self.changed = asyncio.Event()

    # --- results ----------------------------------------------------------------------------------

    def _record(self, command: Record) -> None:
        results = [
            ending if isinstance(ending, Result) else self._made_up(command.machine, ending)
            for ending in command.endings
        ]
        self._store.results(results)
        for result in results:
            if result.outputs and result.outcome is not Outcome.DONE:
                self.collection.fetch(result)

    def count_files(self, results: Iterable[Result]) -> None:
        """Count what has been collected before a restart."""
        self.collection.bytes = sum(size for one in results for _, _, size in one.outputs)

    def fetch_missing(self, results: Iterable[Result]) -> None:
        """Fetch after a restart what was recorded and not fetched: failures, and by 0.1.0 all."""
        for result in results:
            if (
                result.outputs
                and result.outcome is not Outcome.KILLED
                and self.machines.wants(result.machine)
            ):
                self.collection.fetch(result)

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
                self.collection.fetch(result)

    def _made_up(self, machine: MachineId, ending: AnyEnding) -> Result:
        """The result of a task that was given up with its machines: no worker tells it."""
        words = f"given up: {ending.why or 'the machines that ran it broke down'}"
        told = Result(
            self.id, ending.task, ending.attempt, ending.outcome, 0, ending.seconds,
            0.0, 0.0, 0, 0, words, 0,
        )  # fmt: skip
        return self._whole(told, machine, self.machines.offering(machine), self.clock())

    def _whole(self, told: Result, machine: MachineId, cluster: str, now: float) -> Result:
        """The result that its worker told, with what only the master knows."""
        added = (machine, cluster, max(0.0, now - told.wall_seconds), self._why(told))
        return Result._make(told[:TOLD_BY_WORKER] + added)

    def ended_tasks(self, machine: MachineId, results: Sequence[Result]) -> list[AttemptId]:
        """Take in results of this bag; the attempts whose files are to be waited for.

        One counts only if this machine was given the attempt and has not told its end before.
        """
        now, cluster = self.clock(), self.machines.offering(machine)
        counted = []
        invented = 0
        for result in results:
            ordered_at = self.engine.ordered_at(machine, result.task, result.attempt)
            if ordered_at is not None:
                known = held_to(result, now - ordered_at)
                counted.append(self._whole(known, machine, cluster, now))
            elif not self.engine.was_sent(result.task, result.attempt):
                invented += 1
        self.counted += sum(one.outcome is not Outcome.KILLED for one in counted)
        coming = self._collect(machine, counted)
        if invented:
            log.warning("refused: results of what nobody was given", machine=machine, n=invented)
            self._errands.stop(machine, "it told results of what it was not given")
        return coming

    def _collect(self, machine: MachineId, results: list[Result]) -> list[AttemptId]:
        """Fetch what successes left; the others, and those that left nothing, have ended."""
        coming = [one for one in results if one.outcome is Outcome.DONE and one.outputs]
        ended = [one for one in results if one.outcome is not Outcome.DONE or not one.outputs]
        if coming:
            self.happen(Collecting(machine, tuple((one.task, one.attempt) for one in coming)))
        for result in [one for one in coming if not self.collection.has(one)]:
            try:
                self.collection.begin(result)
            except UnfitOutputError as error:
                log.warning("refused: an output", machine=machine, reason=str(error))
                coming.remove(result)
                ended.append(self._failed(result, str(error)))
        if ended:
            self.happen(Ended(machine, tuple(ended)))
        return [AttemptId(*one[:3]) for one in coming]

    def _failed(self, result: Result, excerpt: str) -> Result:
        failed = result._replace(outcome=Outcome.FAILED, outputs=(), excerpt=excerpt)
        return failed._replace(why=self._why(failed))

    def _collected(self, machine: MachineId, results: list[Result]) -> None:
        """Let end what has left durable files, or files that can never be had."""
        counted = [
            self._failed(one, one.excerpt) if one.outcome is Outcome.FAILED else one
            for one in results
            if self.engine.ordered_at(machine, one.task, one.attempt) is not None
        ]
        if counted:
            self.happen(Ended(machine, tuple(counted)))
        self._workers.acks.settled(machine, [AttemptId(*one[:3]) for one in results])

    def _why(self, result: Result) -> str:
        """Words for a failure; none for a success: they are many, and parameters cost time."""
        if result.outcome == Outcome.DONE:
            return ""
        return why(result, self.bag.sweep.parameters(result.task))

    # --- what is asked and told -------------------------------------------------------------------

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

    def overtaken(self, task: TaskId, attempt: int) -> bool:
        """True if only later attempts than this one run."""
        running = self.engine.task(task).running
        return bool(running) and all(one.attempt > attempt for one in running)

    def settled(self, task: TaskId) -> bool:
        """True if the task will not run (again)."""
        return self.engine.task(task).state not in {
            TaskState.WAITING,
            TaskState.RUNNING,
            TaskState.BLOCKED,
        }

    def returned(self, machine: MachineId, tasks: tuple[TaskId, ...]) -> None:
        self.happen(Returned(machine, tasks))

    def vacate(self, reason: str) -> None:
        """Stop all of its machines, whatever they are paid for."""
        for machine in self.engine.alive():
            self._errands.stop(machine.id, reason)

    @property
    def busy(self) -> bool:
        return self.engine.headline().phase not in (Phase.ENDING, Phase.ENDED)

    @property
    def paused(self) -> bool:
        return self.engine.headline().pause is not None

    def last_view(self) -> dict[str, Any]:
        """The view to be kept when it is in memory no more."""
        try:
            shown: dict[str, Any] = plain(self.engine.view())
        except Exception:
            log.exception("no last view", bag=self.id)
            return {}
        return shown

    # --- what workers are told of the bag ---------------------------------------------------------

    def kind(self, task: TaskId) -> Kind:
        step = self.bag.sweep.step_of(task)
        return step, task if self.bag.sweep.is_brought(task) else None

    def spec(self, worker: Worker, kind: Kind) -> BagSpec:
        """Files that other tasks left are durable by now, as their results are."""
        step, task = kind
        spec = self.bag.spec(self.machines.offering(worker.machine), step)
        if task is not None:
            with self._store.reader() as reader:
                files = inherited(reader, self.id, self.bag.sweep, task)
            spec = replace(spec, inputs=(*spec.inputs, *files))
        return self._limits.for_worker(spec, worker)

    def values(self, task: TaskId) -> tuple[str, ...]:
        return self.bag.sweep.filling(task)


def held_to(told: Result, limit: float) -> Result:
    """A result with times that can be: it ran no longer than by the master's own clock."""
    if len(told.excerpt) > _LONGEST_EXCERPT:
        told = told._replace(excerpt=told.excerpt[-_LONGEST_EXCERPT:])
    if 0 <= told.wall_seconds <= limit and isfinite(told.user_seconds + told.system_seconds):
        return told
    wall = told.wall_seconds if 0 <= told.wall_seconds <= limit else max(0.0, limit)
    user, system = (
        seconds if 0 <= seconds < inf else 0.0
        for seconds in (told.user_seconds, told.system_seconds)
    )
    return told._replace(wall_seconds=wall, user_seconds=user, system_seconds=system)
