"""All bags: one runs, the others wait their turn; what workers say goes to the bag it is about."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog

from bats.common.errors import StoreDamagedError, UsageError
from bats.common.messages import AttemptId, BagId, MachineId, Outcome, Result
from bats.common.offering import MANUAL, Offering
from bats.master.bag import BROKEN, OPEN, PAUSED, QUEUED, RUNNING, Bag, bag_from
from bats.master.brain.books.machine import LEASE_SECONDS
from bats.master.brain.protocol.events import Begin, Cause, Event, Resumed, Retried
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.journal import plain as plain_event
from bats.master.brain.protocol.numbering import BEFORE_BY_HAND, bag_of, by_hand, from_table
from bats.master.plain_data import plain
from bats.master.queries.replay import UNHEARD_OF, Recorded, Replayed
from bats.master.service.bags.runner import Runner, Surroundings
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.worker import Worker
from bats.master.service.machines.workers import Workers
from bats.master.service.options import Options
from bats.master.service.transfers import Files
from bats.master.service.wire.admission import Admission
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store

log = structlog.get_logger()

_RENEW_SHARE: Final = 0.5  # of a lease, after which it is renewed for who waits between bags


class Bags:
    def __init__(
        self,
        options: Options,
        store: Store,
        workers: Workers,
        fleet: Fleet,
        admission: Admission,
        files: Files,
    ) -> None:
        self._options = options
        self._store = store
        self._workers = workers
        self._fleet = fleet
        self._admission = admission
        self._files = files
        self._loop = asyncio.get_running_loop()
        self.around = Surroundings(
            store, workers, fleet, files, self._ended, self._parked, self._broke, self._freed
        )
        self.known: dict[BagId, Bag] = {}
        self.loaded: dict[BagId, Runner] = {}
        self.running: Runner | None = None
        self.changed = asyncio.Event()  # replaced whenever another bag runs or one has ended
        self._by_hand = BEFORE_BY_HAND  # the last number given
        self._last_bag = BagId(0)
        self._timers: set[asyncio.TimerHandle] = set()
        self._reading: asyncio.Task[None] | None = None  # the journal of the next bag
        self._renewing = self._loop.call_later(LEASE_SECONDS * _RENEW_SHARE, self._renew)

    def close(self) -> None:
        self._renewing.cancel()
        for timer in self._timers:
            timer.cancel()
        if self._reading:
            self._reading.cancel()
        for runner in self.loaded.values():
            runner.close()

    # --- from one bag to the next -----------------------------------------------------------------

    def restore(self, reader: Reader) -> None:
        """All bags that had not ended; the one that ran goes on."""
        machines = reader.machines()
        self._by_hand = max((row.id for row in machines if by_hand(row.id)), default=BEFORE_BY_HAND)
        for short in reader.bags():
            self._last_bag = short.id
            if short.state not in OPEN:
                continue
            bag = self.known[short.id] = bag_from(reader.bag(short.id))
            if bag.state == RUNNING:
                self._resume(bag, reader, machines)
        self._clean_up(reader, machines)
        self.go_on()

    def _clean_up(self, reader: Reader, machines: list[MachineRow]) -> None:
        """Machines that live on and are in no running bag's books are found and stopped."""
        offerings: list[Offering] = []
        for row in machines:
            if row.gone is None and not by_hand(row.id) and bag_of(row.id) not in self.loaded:
                offerings += bag_from(reader.bag(row.bag)).settings.offerings
                self._store.machine(row._replace(gone=row.requested, reason="left over"))
        self._fleet.clean_up([*offerings, *self.offerings()], self.loaded)

    def offerings(self) -> list[Offering]:
        """Places where machines of ours may be: the master's own, and those of bags in memory."""
        brought = [one for run in self.loaded.values() for one in run.bag.settings.offerings]
        return [*self._options.offerings, *brought]

    def _resume(self, bag: Bag, reader: Reader, machines: list[MachineRow]) -> None:
        started = time.monotonic()
        replayed = Replayed.of(bag, reader.events(bag.id), Recorded.of(bag, reader))
        runner = self._load(bag, replayed)
        runner.machines = {row.id: row for row in machines if row.bag == bag.id or by_hand(row.id)}
        log.info("bag resumed", bag=bag.id, done=replayed.engine.headline().done,
                 seconds=round(time.monotonic() - started, 2))  # fmt: skip
        self.running = runner
        self._keep_state(bag)
        for row in machines:
            if row.bag == bag.id and row.gone is None and row.public_key:
                ticket = row.joined is None
                self._admission.admit(row.id, row.public_key.decode(), ticket=ticket)
        runner.set_right()
        self._fleet.adopt(runner)
        runner.resume()
        runner.fetch_missing(reader.every_task(bag.id))
        runner.fetch_missing(reader.every_attempt(bag.id))
        self._after(self._options.rejoin_seconds, self._expect_machines, runner)

    def _expect_machines(self, runner: Runner) -> None:
        """Machines that did not come back to a restarted master are silent."""
        for machine in runner.engine.alive():
            if machine.joined_at is not None and self._workers.of(machine.id) is None:
                log.warning("worker did not come back", machine=machine.id)
                runner.silent(machine.id)

    def submit(self, bag: Bag) -> None:
        self.known[bag.id] = bag
        self._last_bag = bag.id
        self._store.bag(bag.row())
        self._store.hold(bag.id, [sha256 for _, sha256, _, _ in bag.inputs])
        self._store.then(self.go_on)

    def happen(self, runner: Runner, event: Event) -> None:
        """The user's word to a bag. One that has ended waits for its turn, to go on with it."""
        if runner is self.running:
            runner.happen(event)
            self._attach_all(runner)
            return
        if runner.bag.state == PAUSED and not isinstance(event, Resumed | Retried):
            runner.happen(event)  # it needs no machines for that
            if runner.paused:
                self._parked(runner)
            return
        runner.bag.pending.append(plain_event(event))
        self.known[runner.id] = runner.bag
        self.release(runner.bag)

    def release(self, bag: Bag) -> None:
        """Let a bag begin, or go on."""
        bag.state = QUEUED
        self._keep_state(bag)
        self._store.then(self.go_on)

    def go_on(self) -> None:
        """Begin the next bag if none runs."""
        if self.running is not None or self._reading is not None:
            return
        waiting = [bag for bag in self.known.values() if bag.state == QUEUED]
        if not waiting:
            return
        bag = min(waiting, key=lambda one: one.id)
        for old in [one for one in self.loaded if one != bag.id]:
            self.loaded.pop(old).close()
        runner = self.loaded.get(bag.id)
        if bag.began is None:
            bag.began = time.time()
            bag.pending.append(plain_event(Begin()))
            runner = self._load(bag, Replayed.of(bag, (), UNHEARD_OF))
        elif runner is None:
            self._reading = self._loop.create_task(self._read_then_go_on(bag))
            return
        self.running = runner
        bag.state, bag.ended = RUNNING, None
        events, bag.pending = bag.pending, []
        self._keep_state(bag)
        log.info("bag begins", bag=bag.id, name=bag.name, tasks=bag.sweep.count)
        self._change()
        runner.set_right()
        for event in events:
            runner.happen(event_from(event))
        self._attach_all(runner)

    async def _read_then_go_on(self, bag: Bag) -> None:
        """Take up a bag that had ended; a large one is not replayed in a moment."""
        try:
            await self.load(bag.id)
        except StoreDamagedError as error:
            log.error("bag cannot go on", bag=bag.id, reason=str(error))  # noqa: TRY400
            bag.state, bag.words = BROKEN, str(error)
            self._keep_state(bag)
            self.known.pop(bag.id, None)
        finally:
            self._reading = None
        self.go_on()

    def _load(self, bag: Bag, replayed: Replayed) -> Runner:
        assert bag.began is not None
        runner = self.loaded[bag.id] = Runner(bag, self.around, bag.began, replayed)
        return runner

    async def load(self, bag: BagId) -> Runner:
        """The runner of a bag that has begun, though it may have ended long ago."""
        if runner := self.loaded.get(bag):
            return runner
        known, replayed, machines = await self._loop.run_in_executor(None, self._read, bag)
        if known.began is None:
            raise UsageError(f"Bag {bag} has not begun; it is {known.state}.")
        if bag not in self.loaded:
            self.known[bag] = known
            runner = self._load(known, replayed)
            runner.machines = machines
        return self.loaded[bag]

    def _read(self, bag: BagId) -> tuple[Bag, Replayed, dict[MachineId, MachineRow]]:
        with self._store.reader() as reader:
            known = bag_from(reader.bag(bag))
            replayed = Replayed.of(known, reader.events(bag), Recorded.of(known, reader))
            return known, replayed, {row.id: row for row in reader.machines(bag)}

    def cancel_unbegun(self, bag: Bag, reason: str) -> None:
        bag.state, bag.words, bag.ended = "cancelled", reason, time.time()
        self._keep_state(bag)
        self.known.pop(bag.id)

    def forget(self, bag: BagId) -> None:
        self.known.pop(bag, None)
        if runner := self.loaded.pop(bag, None):
            runner.close()

    def _ended(self, runner: Runner) -> None:
        """The engine is done with this bag: every task settled, every machine gone."""
        bag = runner.bag
        outcome = runner.engine.headline().outcome
        bag.state = outcome.value if outcome else BROKEN
        self._finish(runner)

    def _parked(self, runner: Runner) -> None:
        """Park a paused bag that holds no machine: the next may run until it is resumed."""
        bag = runner.bag
        bag.state = PAUSED
        self._store.bag_state(bag.id, bag.state, bag.summary(_last_view(runner)))
        if self.running is runner:
            self.running = None
        self._change()
        self._store.then(self.go_on)

    def _broke(self, runner: Runner, error: BaseException) -> None:
        """A bug in the engine must not leave machines running."""
        log.error("bag broken by a bug of BaTS; its journal is kept", bag=runner.id, exc_info=error)
        runner.bag.state, runner.bag.words = BROKEN, f"{type(error).__name__}: {error}"
        for machine in runner.machines.values():
            if machine.gone is None and not by_hand(machine.id):
                self._fleet.stop(machine.id, "the bag is broken")
        self._finish(runner)

    def _finish(self, runner: Runner) -> None:
        bag = runner.bag
        bag.ended = time.time()
        self._store.bag_state(bag.id, bag.state, bag.summary(_last_view(runner)), bag.ended)
        log.info("bag ended", bag=bag.id, outcome=bag.state, words=bag.words)
        self.known.pop(bag.id, None)
        runner.close()
        if self.running is runner:
            self.running = None
        self._change()
        self._store.then(self.go_on)

    def _change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def _keep_state(self, bag: Bag) -> None:
        self._store.bag_state(bag.id, bag.state, bag.summary({}), bag.ended)

    # --- what workers say -------------------------------------------------------------------------

    def number_by_hand(self, wanted: MachineId) -> MachineId:
        """The number of a worker started by hand; a new one if its own is spent."""
        if wanted > 0:
            wanted = from_table(wanted)
        known = 0 < wanted <= self._by_hand
        if known and (self.running is None or self._free_in(self.running, wanted)):
            return wanted
        self._by_hand = MachineId(self._by_hand + 1)
        return self._by_hand

    def _free_in(self, runner: Runner, machine: MachineId) -> bool:
        return runner.engine.machine(machine) is None or runner.wants(machine)

    def enroll(self, machine: MachineId, key: str, done: Callable[[], None]) -> bool:
        """Admit the machine's own key; `done` once that is durable. False if it cannot be."""
        runner = self.loaded.get(bag_of(machine))
        if runner is None or machine not in runner.machines:
            return False
        if not self._admission.enroll(machine, key):
            return False
        runner.knows_key(machine, key)
        self._store.then(done)
        return True

    def work(self, bag: BagId) -> Runner | None:
        return self.loaded.get(bag)

    def lease_seconds(self, worker: Worker) -> float:
        runner = self._runner_of(worker)
        return runner.lease_seconds(worker.machine) if runner else LEASE_SECONDS

    def joined(self, worker: Worker) -> None:
        self._files.again(worker.machine)
        if by_hand(worker.machine):
            self._attach(worker)
            return
        runner = self._runner_of(worker)
        if runner is None or worker.machine not in runner.machines:
            self._workers.stop(worker.machine, "its bag has ended")
            self._fleet.stop(worker.machine, "its bag has ended")
            return
        self._fleet.joined(worker.machine)
        runner.joined(worker)

    def _attach_all(self, runner: Runner) -> None:
        """Workers started by hand that wait may have a use now."""
        for worker in self._workers.started_by_hand():
            if not runner.wants(worker.machine):
                self._attach(worker)

    def _attach(self, worker: Worker) -> None:
        """Give a worker that was started by hand to the bag that runs."""
        runner = self.running
        if runner is None or not (runner.wants(worker.machine) if runner.paused else runner.busy):
            for attempt in worker.holding:
                self._workers.kill(worker.machine, attempt)
            return
        cluster = _cluster_for(runner.bag, worker)
        if cluster is None:
            names = ", ".join(o.name for o in runner.bag.settings.offerings)
            log.warning("worker waits: the bag has no such offering", machine=worker.machine,
                        wanted=worker.offering, offerings=names)  # fmt: skip
            return
        if not self._free_in(runner, worker.machine):  # the engine has closed its book on it
            self._workers.renumber(worker, self.number_by_hand(worker.machine))
        runner.joined(worker, cluster)

    def _freed(self, machine: MachineId) -> None:
        """Keep a worker that left its bag; it may be wanted again under another number."""
        if worker := self._workers.of(machine):
            self._workers.lease(machine, LEASE_SECONDS)
            log.info("worker waits for the next bag", machine=worker.machine)

    def _renew(self) -> None:
        """Machines live as long as there is a master, within what is paid for them."""
        self._renewing = self._loop.call_later(LEASE_SECONDS * _RENEW_SHARE, self._renew)
        for worker in self._workers.started_by_hand():
            runner = self._runner_of(worker)
            if runner is None or not runner.wants(worker.machine):
                self._workers.lease(worker.machine, LEASE_SECONDS)
        for runner in self.loaded.values():
            runner.renew_leases()

    def silent(self, worker: Worker) -> None:
        if (runner := self._runner_of(worker)) and runner.wants(worker.machine):
            runner.silent(worker.machine)
        self._fleet.look(worker.machine)

    def cut_off(self, worker: Worker) -> None:
        """Count a worker as cut off: it may come back, or its back end will tell its end."""
        self._fleet.look(worker.machine)

    def ended_late(self, worker: Worker, results: Sequence[Result]) -> None:
        """Take in results of a bag that has ended: too late for any plan, but not for its user.

        Only its own machines can have run it.
        """
        mine = bag_of(worker.machine)
        done = [r for r in results if r.outcome == Outcome.DONE and r.bag == mine]
        if done and not by_hand(worker.machine) and mine <= self._last_bag:
            with self._store.reader() as reader:
                count = bag_from(reader.bag(mine)).sweep.count
            self._store.results(
                [r._replace(machine=worker.machine) for r in done if r.task < count]
            )

    def returned(self, worker: Worker, attempts: tuple[AttemptId, ...]) -> None:
        for bag in {attempt.bag for attempt in attempts}:
            if runner := self.loaded.get(bag):
                count = runner.bag.sweep.count
                tasks = tuple(a.task for a in attempts if a.bag == bag and a.task < count)
                runner.returned(worker.machine, tasks)

    def left(self, worker: Worker, reason: str) -> None:
        if by_hand(worker.machine):
            if (runner := self._runner_of(worker)) and runner.wants(worker.machine):
                runner.gone(worker.machine, None, Cause.STOPPED, reason)
        else:
            self._fleet.left(worker.machine)

    def _runner_of(self, worker: Worker) -> Runner | None:
        if by_hand(worker.machine):
            return self.running
        return self.loaded.get(bag_of(worker.machine))

    def _after(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        def run() -> None:
            self._timers.discard(timer)
            call(*arguments)

        timer = self._loop.call_later(seconds, run)
        self._timers.add(timer)


def _cluster_for(bag: Bag, worker: Worker) -> int | None:
    """The offering of a worker: the one it names, else the bag's for hand-started ones."""
    offerings = bag.settings.offerings
    if worker.slots < bag.settings.task_slots:
        return None
    if worker.offering:
        return next((k for k, o in enumerate(offerings) if o.name == worker.offering), None)
    by_hand = [k for k, offering in enumerate(offerings) if offering.backend == MANUAL]
    free = [k for k, offering in enumerate(offerings) if offering.free]
    return next(iter([*by_hand, *free]), None)


def _last_view(runner: Runner) -> dict[str, Any]:
    try:
        shown: dict[str, Any] = plain(runner.engine.view())
    except Exception:
        log.exception("no last view", bag=runner.id)
        return {}
    return shown
