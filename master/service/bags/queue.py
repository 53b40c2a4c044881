"""All bags: those that run, and those that wait; what workers say goes to the bag it is about."""

import asyncio
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

import structlog

from bats.common.capacity.pool_rules import PAYERS
from bats.common.errors import StoreDamagedError, UsageError
from bats.common.messages import BagId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.api.replies import CapLine
from bats.master.api.replies.machine_replies import BagsSnapshot
from bats.master.bag import Bag, read_bag
from bats.master.bag_states import BROKEN, OPEN, PAUSED, QUEUED, RUNNING
from bats.master.brain.books.machine import LEASE_SECONDS
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.household.household import HouseholdView
from bats.master.brain.protocol.events import (
    Added,
    AllAdded,
    Allowed,
    Begin,
    Event,
    LeftOut,
    Resumed,
    Retried,
)
from bats.master.brain.protocol.journal import event_from
from bats.master.brain.protocol.journal import plain as plain_event
from bats.master.brain.protocol.numbering import serves_all
from bats.master.queries.pools.pool_facts import lines
from bats.master.queries.replay import UNHEARD_OF, OtherBrainError, Recorded, Replayed
from bats.master.service.bags.collection import Caps
from bats.master.service.bags.earlier_bags import lessons
from bats.master.service.bags.placement_file import PlacementFile
from bats.master.service.bags.restoring import Restoring, miss_machines
from bats.master.service.bags.runner import Runner
from bats.master.service.bags.side_by_side import SideBySide
from bats.master.service.bags.surroundings import Surroundings
from bats.master.service.machines.fleet import Fleet
from bats.master.service.machines.late_results import LateResults
from bats.master.service.machines.workers import Workers
from bats.master.service.money.cap_file import CapFile
from bats.master.service.money.standing_caps import StandingCaps
from bats.master.service.options import Options
from bats.master.service.owner import Owner
from bats.master.service.pools.all_pools import Pools, limits
from bats.master.service.telling.messenger import Messenger
from bats.master.service.transfers import Files
from bats.master.service.wire.admission import Admission
from bats.master.store.reader import Reader
from bats.master.store.rows import MachineRow
from bats.master.store.store import Store
from bats.master.sweep.space import Space

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
        self.side_by_side = SideBySide(
            workers, options.sharing, PlacementFile(options.state), options.user_weights
        )
        if options.placement:
            self.side_by_side.place(options.placement)
        self.messenger = Messenger(options.state)
        cap_file = CapFile(options.state)
        cap_file.drop(PAYERS)  # they stand in the clouds file
        cap_file.set((*options.caps, *limits(options.pools)), options.currency)
        self.caps = StandingCaps(cap_file, self.side_by_side, self._tell)
        self.around = Surroundings(
            store,
            workers,
            fleet,
            files,
            self._ended,
            self._parked,
            self._broke,
            self.side_by_side.let_go,
            self._look,
            self.side_by_side.waiting_for,
            self.messenger,
            options.notify,
            Caps(options.task_files_bytes, options.bag_files_bytes),
        )
        self.pools = Pools(store, workers, fleet, admission, self.side_by_side)
        self.known: dict[BagId, Bag] = {}
        self.loaded: dict[BagId, Runner] = {}
        self.changed = asyncio.Event()  # replaced whenever another bag runs or one has ended
        self.late = LateResults()
        self._last_bag = BagId(0)
        self._left: set[BagId] = set()  # to the release that ran them
        self._rejoining: list[asyncio.TimerHandle] = []  # the time that machines have for it
        self._reading: dict[BagId, asyncio.Task[None]] = {}  # the journals of bags that go on
        self._renewing = self._loop.call_later(LEASE_SECONDS * _RENEW_SHARE, self._renew)

    @property
    def last_bag(self) -> BagId:
        """The highest number given; 0 before the first."""
        return self._last_bag

    def close(self) -> None:
        self._renewing.cancel()
        for timer in self._rejoining:
            timer.cancel()
        for reading in self._reading.values():
            reading.cancel()
        self.side_by_side.close()
        self.pools.close()
        for runner in self.loaded.values():
            runner.close()

    @property
    def running(self) -> Mapping[BagId, Runner]:
        """Those that run, in the order of submission."""
        return self.side_by_side.runners

    def shares(self) -> HouseholdView:
        """The common machines, and which bag has what of them."""
        return self.side_by_side.household.view()

    def caps_told(self) -> list[CapLine]:
        """The caps over all bags, with what is left of them."""
        return self.caps.told()["caps"]

    def snapshot(self) -> BagsSnapshot:
        """Numbers for whoever watches."""
        running = self.running
        seen = [runner.engine.headline() for runner in running.values()]
        limits = [one.limit for one in seen]
        paused = {bag.id for bag in self.known.values() if bag.state == PAUSED}
        return {
            "running_bags": list(running),
            "queued_bags": sorted(self.known.keys() - running.keys() - paused),
            "paused_bags": sorted(paused | {bag for bag in running if running[bag].paused}),
            "tasks": {
                state.name.lower(): sum(one.counts[state] for one in seen) for state in TaskState
            },
            "committed": Money(sum(one.committed for one in seen)),
            "settled": Money(sum(one.settled for one in seen)),
            "caps": self.caps_told(),
            "shares": [{"bag": one.bag, "slots": one.slots} for one in self.shares().bags],
            "pools": lines(self.pools.kept()),
            "limit": None if None in limits else Money(sum(filter(None, limits))),
        }

    # --- from one bag to the next -----------------------------------------------------------------

    def restore(self, reader: Reader) -> None:
        """All bags that had not ended; those that ran go on."""
        restoring = Restoring(reader, self._store, self._fleet, self._admission)
        for short in reader.bags():
            self._last_bag = short.id
            if short.state not in OPEN:
                continue
            self.known[short.id] = read_bag(reader, short.id)
        ran = [bag for bag in self.known.values() if bag.state == RUNNING]
        taken_up = [self._take_up(bag, restoring) for bag in ran]
        runners = [runner for runner in taken_up if runner is not None]
        self.caps.restore(reader, {runner.id for runner in runners})
        self.pools.restore(reader, self._options.pools)
        self.side_by_side.open(runners)
        for runner in runners:
            self._keep_state(runner.bag)
            restoring.resume(runner)
            missing = partial(miss_machines, runner, self._workers)
            self._rejoining.append(self._loop.call_later(self._options.rejoin_seconds, missing))
        self.pools.begin(self._options.rejoin_seconds)
        restoring.clean_up(self.offerings(), self.owners, self._left)
        self.go_on()

    def _take_up(self, bag: Bag, restoring: Restoring) -> Runner | None:
        """The runner of a bag that ran; None if another release knows it better."""
        try:
            replayed = restoring.replayed(bag)
        except OtherBrainError as error:
            self._leave(bag, error)
            return None
        return self._load(bag, bag.began or bag.created, replayed, restoring.machines(bag.id))

    def offerings(self) -> list[Offering]:
        """Places where machines of ours may be: the master's own, and those of bags in memory."""
        brought = [one for run in self.loaded.values() for one in run.bag.settings.offerings]
        kept = [one for keeper in self.pools.keepers.values() for one in keeper.offerings]
        return [*self._options.offerings, *brought, *kept]

    @property
    def owners(self) -> Mapping[BagId, Owner]:
        """Bags in memory, and pools: those whom machines are started for."""
        return {**self.loaded, **self.pools.keepers}

    def submit(self, bag: Bag) -> None:
        self.known[bag.id] = bag
        self._last_bag = bag.id
        self._store.bag(bag.row())
        self._store.hold(bag.id, [sha256 for _, sha256, _, _ in bag.inputs])
        self._store.then(self.go_on)

    def happen(self, runner: Runner, event: Event) -> None:
        """The user's word to a bag. One that has ended waits for its turn, to go on with it."""
        if runner.id in self.running:
            runner.happen(event)
            return
        if runner.bag.state == PAUSED and not isinstance(
            event, Resumed | Retried | Allowed | LeftOut
        ):
            runner.happen(event)  # it needs no machines for that
            if runner.paused:
                self._parked(runner)
            return
        runner.bag.pending.append(plain_event(event))
        self.known[runner.id] = runner.bag
        self.release(runner.bag)

    def add(self, bag: Bag, part: Space, name: str) -> range:
        """Add tasks to an open bag, all in one commit. Raises ValueError."""
        self._store.addition(bag.add(part, name))
        self._tell_of_tasks(bag, Added(part.count))
        return bag.added[name]

    def close_bag(self, bag: Bag) -> None:
        """No more tasks are added."""
        bag.closed = True
        self._keep_state(bag)
        self._tell_of_tasks(bag, AllAdded())

    def _tell_of_tasks(self, bag: Bag, event: Added | AllAdded) -> None:
        """To one that waits to begin or to go on it is told when its turn comes."""
        runner = self.loaded.get(bag.id)
        if runner is not None and bag.state in (RUNNING, PAUSED):
            runner.happen(event)
            return
        waits, written = bag.pending, plain_event(event)
        if isinstance(event, Added) and waits and waits[-1][0] == written[0]:
            written = plain_event(Added(waits.pop()[1] + event.tasks))
        waits.append(written)
        self._keep_state(bag)

    def release(self, bag: Bag) -> None:
        """Let a bag begin, or go on."""
        bag.state = QUEUED
        self._keep_state(bag)
        self._store.then(self.go_on)

    def go_on(self) -> None:
        """Begin all bags that wait for nothing."""
        for bag in sorted(self.known.values(), key=lambda one: one.id):
            waits = self.waits_for(bag) or bag.id in self._reading
            if bag.state == QUEUED and not waits:
                self._go_on_with(bag)

    def waits_for(self, bag: Bag) -> list[BagId]:
        """Bags that have not ended, and that it is to begin after."""
        if bag.began is not None:
            return []
        return [
            one
            for one in bag.standing.after
            if one in self.known.keys() - self.side_by_side.lenders
        ]

    def weigh(self, bag: Bag, weight: int, priority: int) -> None:
        bag.standing = bag.standing._replace(weight=weight, priority=priority)
        self._keep_state(bag)
        self.side_by_side.weigh(bag)

    def _go_on_with(self, bag: Bag) -> None:
        runner = self.loaded.get(bag.id)
        if bag.began is None:
            bag.began = time.time()
            bag.pending.append(plain_event(Begin()))
            runner = self._load(bag, bag.began, Replayed.of(bag, (), UNHEARD_OF))
        elif runner is None:
            reading = self._loop.create_task(self._read_then_go_on(bag))
            self._reading[bag.id] = reading
            return
        self._unload()
        self.side_by_side.open([runner])  # a paused one that ran then would be parked at once
        bag.state, bag.ended = RUNNING, None
        events, bag.pending = bag.pending, []
        self._keep_state(bag)
        log.info("bag begins", bag=bag.id, name=bag.name, tasks=bag.sweep.count)
        self._change()
        runner.set_right()
        for event in events:
            runner.happen(event_from(event))

    def _unload(self) -> None:
        """Forget engines of bags that have ended, once that is in the store to be read again."""
        for old in self.loaded.keys() - self.known.keys():
            one = self.loaded[old]
            self._store.then(partial(self._forget_engine, one, one.revision))

    def _forget_engine(self, runner: Runner, revision: int) -> None:
        if self.loaded.get(runner.id) is runner and runner.revision == revision:
            del self.loaded[runner.id]
            self.late.expect(runner)
            runner.close()

    async def _read_then_go_on(self, bag: Bag) -> None:
        """Take up a bag that had ended; a large one is not replayed in a moment."""
        try:
            await self.load(bag.id)
        except OtherBrainError as error:
            self._leave(bag, error)
        except StoreDamagedError as error:
            log.error("bag cannot go on", bag=bag.id, reason=str(error))  # noqa: TRY400
            bag.state, bag.words = BROKEN, str(error)
            self._keep_state(bag)
            self.known.pop(bag.id, None)
        finally:
            del self._reading[bag.id]
        self.go_on()

    def _leave(self, bag: Bag, error: OtherBrainError) -> None:
        """Change nothing of a bag that another release knows better."""
        log.error("bag is not taken up", bag=bag.id, reason=str(error))
        self._left.add(bag.id)
        self.known.pop(bag.id, None)

    def _load(
        self, bag: Bag, began: float, replayed: Replayed, machines: Iterable[MachineRow] = ()
    ) -> Runner:
        runner = self.loaded[bag.id] = Runner(bag, self.around, began, replayed, machines)
        return runner

    async def load(self, bag: BagId) -> Runner:
        """The runner of a bag that has begun, though it may have ended long ago."""
        if runner := self.loaded.get(bag):
            return runner
        stored, replayed, machines = await self._loop.run_in_executor(None, self._read, bag)
        known = self.known.get(bag, stored)  # of whose changes some may not be in the store yet
        if known.began is None:
            raise UsageError(f"Bag {bag} has not begun; it is {known.state}.")
        if bag not in self.loaded:
            self._load(known, known.began, replayed, machines)
        return self.loaded[bag]

    def _read(self, bag: BagId) -> tuple[Bag, Replayed, list[MachineRow]]:
        with self._store.reader() as reader:
            known = read_bag(reader, bag)
            replayed = Replayed.of(known, reader.events(bag), Recorded.of(known, reader))
            return known, replayed, reader.machines(bag)

    def cancel_unbegun(self, bag: Bag, reason: str) -> None:
        bag.state, bag.words, bag.ended = "cancelled", reason, time.time()
        self._keep_state(bag)
        self._store.then(partial(self.forget, bag.id))  # until then the store would revive it
        self._store.then(self.go_on)

    def forget(self, bag: BagId) -> None:
        self.known.pop(bag, None)
        if runner := self.loaded.pop(bag, None):
            runner.close()

    def _look(self, runner: Runner) -> None:
        if self.side_by_side.look(runner):
            self._store.then(self.go_on)
        self.caps.look()

    def _tell(self, told: Mapping[str, Any]) -> None:
        if self._options.notify:
            self.messenger.send(self._options.notify, told, lambda _words: None)

    def _ended(self, runner: Runner) -> None:
        """The engine is done with this bag: every task settled, every machine gone."""
        bag = runner.bag
        outcome = runner.engine.headline().outcome
        bag.state = outcome.value if outcome else BROKEN
        runner.look_at_books()
        self._finish(runner)

    def _parked(self, runner: Runner) -> None:
        """Park a paused bag that holds no machine: the next may run until it is resumed."""
        bag = runner.bag
        bag.state = PAUSED
        runner.look_at_books()
        self._store.bag_state(bag.id, bag.state, bag.summary(runner.last_view()))
        self.side_by_side.end(runner)
        self._change()

    def _broke(self, runner: Runner, error: BaseException) -> None:
        """A bug in the engine must not leave machines running."""
        log.error("bag broken by a bug of BaTS; its journal is kept", bag=runner.id, exc_info=error)
        runner.bag.state, runner.bag.words = BROKEN, f"{type(error).__name__}: {error}"
        for machine in runner.machines.rows.values():
            if machine.gone is None and not serves_all(machine.id):
                self._fleet.stop(machine.id, "the bag is broken")
        self._finish(runner)

    def _finish(self, runner: Runner) -> None:
        bag = runner.bag
        bag.ended = time.time()
        self._store.bag_state(bag.id, bag.state, bag.summary(runner.last_view()), bag.ended)
        self._learn(runner)
        log.info("bag ended", bag=bag.id, outcome=bag.state, words=bag.words)
        self.known.pop(bag.id, None)
        runner.close()
        self.side_by_side.end(runner)
        self._change()
        self._store.then(self.go_on)

    def _learn(self, runner: Runner) -> None:
        """Keep what the bag took for those that run the same command; nothing depends on it."""
        try:
            with self._store.reader() as reader:
                self._store.learned(
                    list(lessons(runner.bag, runner.engine, reader, self._files.times))
                )
        except Exception:
            log.exception("nothing was learned", bag=runner.id)

    def _change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def _keep_state(self, bag: Bag) -> None:
        self._store.bag_state(bag.id, bag.state, bag.summary({}), bag.ended)

    def _renew(self) -> None:
        """Machines live as long as there is a master, within what is paid for them."""
        self._renewing = self._loop.call_later(LEASE_SECONDS * _RENEW_SHARE, self._renew)
        for worker in self._workers.started_by_hand():
            self._workers.lease(worker.machine, LEASE_SECONDS)
        for runner in self.loaded.values():
            runner.machines.renew_leases()
