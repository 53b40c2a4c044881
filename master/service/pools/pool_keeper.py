"""Keeps one pool: asks its scaler every interval, writes events down, carries commands out."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgpack
import structlog

from bats.common.capacity.pool_rules import Pool
from bats.common.errors import StoreDamagedError
from bats.common.messages import BagId, MachineId
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.pools.pool_books import is_long, summed
from bats.master.brain.pools.pool_events import Command, Event, Formed, Looked, TakesTasks
from bats.master.brain.pools.pool_journal import plain
from bats.master.brain.pools.pool_load import BagLoad, Loads, LoadView
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.commands import (
    Decided,
    RenewLease,
    StartMachines,
    StopMachine,
    WakeAt,
)
from bats.master.brain.protocol.events import Allotted, Cause, Gone, SetAside
from bats.master.brain.protocol.numbering import before_first
from bats.master.brain.scaling.scaler import Scaler
from bats.master.brain.views.told.facts import MachineFacts, machine_facts
from bats.master.service.bags.runner import Runner
from bats.master.service.bags.side_by_side import SideBySide
from bats.master.service.machines.workers import Workers
from bats.master.service.owner import Owner
from bats.master.service.pools.pool_machines import PoolMachines
from bats.master.store.rows import DecisionRow, MachineRow
from bats.master.store.store import Store

_pack = msgpack.Packer().pack

log = structlog.get_logger()


class Fleet(Protocol):
    def start(self, owner: Owner, cluster: int, machines: Sequence[MachineId]) -> None: ...

    def stop(self, machine: MachineId, reason: str) -> None: ...


class PoolKeeper:
    """The `Owner` of a pool's machines, and the `Payer` of what they cost."""

    busy = True
    task_slots = 1  # its offerings count CPUs

    def __init__(
        self,
        number: BagId,
        pool: StandingPool,
        rules: Pool,
        rows: Iterable[MachineRow],
        store: Store,
        workers: Workers,
        fleet: Fleet,
        bags: SideBySide,
    ) -> None:
        self.id = number
        self.pool = pool
        self.clock: Callable[[], float] = bags.calendar
        self._store = store
        self._fleet = fleet
        self._bags = bags
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event] = deque()
        self._acting = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._asking: asyncio.Task[None] | None = None
        self._loads = Loads()
        self._done: dict[tuple[BagId, MachineId], int] = {}
        self._last: Looked | None = None
        self.machines = PoolMachines(
            number, pool, rows, self.clock, store, workers, bags, self.happen
        )
        last = max([*self.machines.rows, before_first(number)])
        self.happen(Formed(rules, last))
        self._set_right()
        self.scaler = self._new_scaler()

    def _set_right(self) -> None:
        """Agree with the rows: another release may have decided otherwise after the same events."""
        for one in self.pool.alive():
            if one.id not in self.machines.rows:
                words = "it was never asked for"
                self.happen(Gone(one.id, self.clock(), Cause.STOPPED, words))
        for row in list(self.machines.rows.values()):
            if row.gone is None and row.id not in self.pool.machines:
                self._store.machine(row._replace(gone=row.requested, reason="left over"))

    def begin(self) -> None:
        """From now on it is looked at."""
        self._timers["look"] = self._loop.call_soon(self._look)  # type: ignore[assignment]

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        if self._asking:
            self._asking.cancel()

    # --- what it is to those who start and stop its machines, and to caps -------------------------

    @property
    def offerings(self) -> Sequence[Offering]:
        return [one.offering for one in self.pool.kinds]

    def known(self, machine: MachineId) -> MachineFacts | None:
        known = self.pool.machines.get(machine)
        return None if known is None else machine_facts(known, self.clock())

    def living(self) -> list[MachineFacts]:
        return [machine_facts(one, self.clock()) for one in self.pool.alive()]

    def waiting_for(self, machine: MachineId) -> list[Runner]:
        return self._bags.waiting_for(machine)

    def set_aside(self, cluster: int, reason: str) -> None:
        self.happen(SetAside(cluster, reason))

    @property
    def committed(self) -> Money:
        return self.pool.committed

    @property
    def waits_for_cap(self) -> bool:
        return self.pool.waits_for_cap

    @property
    def allowance(self) -> Money | None:
        return self.pool.ledger.allowance

    def committed_since(self, at: float) -> Money:
        return self.pool.committed_since(at)

    def allot(self, told: Allotted) -> None:
        self.happen(told)

    # --- events and commands ----------------------------------------------------------------------

    def happen(self, event: Event) -> None:
        """All events go through here; those that arise meanwhile wait their turn."""
        self._events.append(event)
        if self._acting:
            return
        self._acting = True
        try:
            while self._events:
                self._step(self._events.popleft())
        finally:
            self._acting = False
        self._bags.settle()

    def _step(self, event: Event) -> None:
        now = self.clock()
        self._store.journal(self.id, now, _pack(plain(event)))
        commands = self.pool.handle(event, now)
        if leaving := [one.machine for one in commands if isinstance(one, StopMachine)]:
            self._bags.left(leaving[0], "its pool ends it", *leaving[1:])  # at once: no task begins
        for command in commands:
            self._obey(command)
        if is_long(self.pool):
            self._sum_up(now)

    def _sum_up(self, now: float) -> None:
        """Begin the journal anew, with all that it came to: what it tells, it tells for ever."""
        told = summed(self.pool)
        number = self._store.journal(self.id, now, _pack(plain(told)))
        self._store.journal_begins(self.id, number)
        self.pool.handle(told, now)

    def _obey(self, command: Command) -> None:
        match command:
            case StartMachines(cluster, machines):
                self.machines.requested(command)
                self._store.then(lambda: self._fleet.start(self, cluster, machines))
            case StopMachine(machine, reason):
                self._store.then(lambda: self._fleet.stop(machine, reason))
            case RenewLease(machine, _):
                self._store.then(lambda: self.machines.renew(machine))
            case TakesTasks(machine, takes):
                self._bags.takes(machine, takes=takes)
            case WakeAt(at):
                self._call_at("wake", at - self.clock(), self._wake)
            case Decided(words):
                self._store.decision(DecisionRow(self.id, self.clock(), words))
                log.info("pool", name=self.pool.rules.name, words=words)

    def _call_at(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        if timer := self._timers.get(name):
            timer.cancel()
        self._timers[name] = self._loop.call_later(max(0.0, seconds), call)

    # --- looks ------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Ask the scaler; beside the loop, where it may have much to think about."""
        rules = self.pool.rules
        self._call_at("look", rules.interval_seconds, self._look)
        self.machines.renew_leases()
        if self._asking and not self._asking.done():
            self._tell(None, f"{rules.scaler} has not answered for {rules.interval_seconds:g} s")
            return
        loads = self.loads()
        try:
            tasks = self.scaler.sees_tasks
            view = self._loads.view(self.pool, loads, self._ended(), tasks=tasks)
            if tasks:
                self._asking = self._loop.create_task(self._ask(view))
            else:
                self._tell(view.in_machines(self.scaler.want(view)), loads=loads)
        except StoreDamagedError:
            raise
        except Exception as error:
            self._failed(error)

    async def _ask(self, view: LoadView) -> None:
        try:
            want = await self._loop.run_in_executor(None, self.scaler.want, view)
            self._tell(view.in_machines(want))
        except StoreDamagedError:
            raise
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        log.error("a scaler failed", pool=self.pool.rules.name, exc_info=error)
        self._tell(None, f"{self.pool.rules.scaler} failed: {type(error).__name__}: {error}")

    def _wake(self) -> None:
        self._tell(None, self.pool.trouble)

    def _tell(
        self,
        want: tuple[int, ...] | None,
        trouble: str = "",
        loads: Sequence[BagLoad] | None = None,
    ) -> None:
        loads = self.loads() if loads is None else loads
        rules = self.pool.rules
        seconds = max((one.engine.usual_runtime(rules.quantile) for one in loads), default=0.0)
        places = sum((one.running + one.ready) * one.width for one in loads)
        looked = Looked(places, self._with_tasks(), round(seconds, 3), want, trouble)
        if looked == self._last and not places and not self.pool.alive():
            return  # as before, and nothing that time could change
        self._last = looked
        self.happen(looked)

    def _with_tasks(self) -> tuple[MachineId, ...]:
        engines = [one.engine for one in self._bags.runners.values()]
        living = (one.id for one in self.pool.alive())
        return tuple(one for one in living if any(engine.held(one) for engine in engines))

    def loads(self) -> list[BagLoad]:
        """The load that each bag that may use the pool puts on it."""
        names = {one.name for one in self.offerings}
        machines = self.pool.machines
        found = []
        for runner in self._bags.runners.values():
            engine = runner.engine
            if names.isdisjoint(one.name for one in engine.settings.offerings):
                continue
            running = elsewhere = 0
            for known in engine.alive():
                if known.id in machines:
                    running += engine.fills(known.id)
                else:
                    elsewhere += engine.fills(known.id)
            ready = max(0, engine.needs - running - elsewhere)
            width = self.offerings[0].machine.width(engine.settings.task)
            found.append(BagLoad(runner.id, engine, runner.began, running, ready, width))
        return found

    def _ended(self) -> list[int]:
        """Tasks that have ended since the last look, by the kind of their machine."""
        ended = [0] * len(self.pool.kinds)
        done: dict[tuple[BagId, MachineId], int] = {}
        for runner in self._bags.runners.values():
            for one in self.pool.alive():
                if known := runner.engine.machine(one.id):
                    key = runner.id, one.id
                    done[key] = known.done
                    ended[one.cluster] += max(0, known.done - self._done.get(key, 0))
        self._done = done
        return ended

    def _new_scaler(self) -> Scaler:
        from bats.master.brain.scaling.scalers import scaler  # with numpy: only pools need it

        return scaler(self.pool.rules.scaler)
