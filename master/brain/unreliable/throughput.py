"""The throughput phase (§3): no copies; an instance that is late is given up and sent anew.

It is the same for all strategies that open alike, so it is run event by event, once a repetition.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING, Final

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.unreliable.pools import (
    ALIVE,
    NEVER,
    Billing,
    Floats,
    Found,
    Pool,
    World,
)
from bats.master.brain.unreliable.strategy import Opening, Strategy

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

STRETCH: Final = 40
"""Tasks per machine that are run event by event; those before them take what they do on average."""
HOPELESS: Final = 100
"""Instances per machine that end one after the other without a result: none will come then."""
_DRAWN: Final = 256


@dataclass(slots=True)
class Machines:
    """The machines of one pool as the tail finds them. Columns are machines."""

    free: Floats  # when each is done with what it runs
    since: Floats  # since when it is paid; NEVER if nobody has asked for it yet
    state: NDArray[np.int8]  # that its instance leaves it in
    task: NDArray[np.intp]  # that it runs; -1
    owed: Floats  # to be paid if its instance returns


@dataclass(slots=True)
class Start:
    """The beginning of the tail. Columns are the tasks without a result; each runs once."""

    at: float  # T_tail; without a tail the end of the bag, NEVER if it has none
    sent: Floats
    back: Floats  # when the instance that runs returns; NEVER
    told: Floats  # when it is told that it will not; NEVER if only its deadline tells
    unreliable: Machines
    reliable: Machines
    cost: float  # of what has returned, of machines that were lost, and of `before`
    before: float  # seconds before all that: tasks that were not run event by event


@dataclass(slots=True)
class _Machine:
    pool: Pool
    since: float = NEVER
    free: float = 0.0
    state: int = ALIVE
    task: int = -1
    owed: float = 0.0


def until_tail(world: World, strategy: Strategy, rng: Generator) -> Start:
    """One run of the throughput phase, to the tail or, if the strategy has none, to the end."""
    running = world.found.running if world.found else 0
    early = max(0, world.tasks - max(running, STRETCH * world.machines))
    phase = _Phase(world.with_tasks(world.tasks - early), strategy, rng)
    start = phase.run()
    if early:
        start.before, cost = _stretch(world, strategy, early, rng)
        start.cost += cost
    return start


class _Idle:
    """Machines without an instance, by when they can take one; the unreliable ones come first."""

    def __init__(self, unreliable: int) -> None:
        self._unreliable = unreliable
        self._pools: tuple[list[tuple[float, int]], list[tuple[float, int]]] = ([], [])

    def add(self, machine: int, ready: float) -> None:
        heapq.heappush(self._pools[machine >= self._unreliable], (ready, machine))

    def take(self, now: float) -> int | None:
        for pool in self._pools:
            if pool and pool[0][0] <= now:
                return heapq.heappop(pool)[1]
        return None

    @property
    def next(self) -> float:
        """The time when the next machine can take one."""
        return min((pool[0][0] for pool in self._pools if pool), default=NEVER)


class _Phase:
    def __init__(self, world: World, strategy: Strategy, rng: Generator) -> None:
        self.world, self.strategy, self.rng = world, strategy, rng
        self.queue = deque(range(world.tasks))
        self.left = world.tasks
        self.fruitless = 0  # instances since the last result
        self.sent = [0.0] * world.tasks
        self.back = [NEVER] * world.tasks
        self.told = [NEVER] * world.tasks
        self.cost = 0.0
        self.ends: list[tuple[float, int]] = []  # when a machine is done with what it runs
        self.drawn: dict[bool, deque[tuple[float, float, float, int]]] = {}
        unreliable, reliable = _in_use(world, strategy)
        self.begins = unreliable > 0  # else those that are there end what they have
        if world.found is not None and not self.begins:
            unreliable = len(world.found.unreliable)
        self.unreliable = unreliable
        self.machines = [
            _Machine(pool)
            for pool, count in ((world.unreliable, unreliable), (world.reliable, reliable))
            for _ in range(count)
            if pool is not None
        ]
        self.idle = _Idle(unreliable)
        found: dict[int, Found] = {}
        if world.found is not None:
            found.update(enumerate(world.found.unreliable[:unreliable]))
            found.update(enumerate(world.found.reliable[:reliable], unreliable))
        for k, machine in enumerate(self.machines):
            if k in found:
                self._find(k, found[k])
            elif self._takes(k):
                self.idle.add(k, machine.pool.start_seconds)

    def _find(self, k: int, found: Found) -> None:
        """The machine is there, and may have had a task for some time."""
        machine = self.machines[k]
        machine.since = -found.up_seconds
        if found.runs_seconds is None:
            if self._takes(k):
                self.idle.add(k, found.ready_seconds)
            return
        task, ago = self.queue.popleft(), found.runs_seconds
        reliable = machine.pool is self.world.reliable
        share = 1.0 if reliable or self.world.found is None else self.world.found.lately
        deadline = NEVER if reliable else max(self.world.throughput_deadline, ago)
        drawn = machine.pool.rest(self.rng, ago, share).by(deadline, machine.pool.ending_seconds)
        back, told, end = (float(part[0]) - ago for part in drawn[:3])
        machine.state = int(drawn.machine[0])
        self.sent[task], self.back[task], self.told[task] = -ago, back, told
        machine.task, machine.free = task, end
        machine.owed = (back + ago) * machine.pool.rate if back < NEVER else 0.0
        heapq.heappush(self.ends, (end, k))

    def run(self) -> Start:
        now = 0.0
        while self.left and self.fruitless < HOPELESS * len(self.machines):
            while self.queue and (k := self.idle.take(now)) is not None:
                self._send(k, now)
            if not self.queue and self._tail_begins():
                break
            sends = self.idle.next if self.queue else NEVER
            if self.ends and self.ends[0][0] <= sends:
                now, k = heapq.heappop(self.ends)
                self._end(k, now)
            else:
                now = sends
        return self._start(now)

    def _tail_begins(self) -> bool:
        if not self.strategy.tail:
            return False
        if self.strategy.affordable is None:
            return self.left < self.world.machines
        reliable = self.world.reliable
        copies = self.left * reliable.mean_seconds * reliable.rate if reliable else 0.0
        return self.cost + copies <= self.strategy.affordable

    def _send(self, k: int, now: float) -> None:
        machine, task = self.machines[k], self.queue.popleft()
        if machine.state:
            self.cost += self._bill(machine)
        if machine.state or machine.since == NEVER:
            machine.since = now - machine.pool.start_seconds
        back, told, end, machine.state = self._draw(machine.pool)
        self.sent[task], self.back[task], self.told[task] = now, now + back, now + told
        machine.task, machine.free = task, now + end
        machine.owed = back * machine.pool.rate if back < NEVER else 0.0
        heapq.heappush(self.ends, (machine.free, k))

    def _end(self, k: int, now: float) -> None:
        machine = self.machines[k]
        if self.back[machine.task] <= now:
            self.left -= 1
            self.fruitless = 0
            if self.world.billing is Billing.RESULTS:
                self.cost += machine.owed
        else:
            self.queue.append(machine.task)
            self.fruitless += 1
        machine.task, machine.owed = -1, 0.0
        starting = machine.pool.start_seconds if machine.state else 0.0
        if self._takes(k):
            self.idle.add(k, now + starting)

    def _takes(self, k: int) -> bool:
        """True if the machine gets tasks."""
        return self.begins or k >= self.unreliable

    def _bill(self, machine: _Machine) -> float:
        if self.world.billing is Billing.RESULTS:
            return 0.0
        return float(machine.pool.bill(np.array(machine.free - machine.since)))

    def _draw(self, pool: Pool) -> tuple[float, float, float, int]:
        reliable = pool is self.world.reliable
        drawn = self.drawn.setdefault(reliable, deque())
        if not drawn:
            deadline = NEVER if reliable else self.world.throughput_deadline
            fates = pool.draw(self.rng, _DRAWN).by(deadline, pool.ending_seconds)
            drawn.extend(zip(*(part.tolist() for part in fates), strict=True))
        return drawn.popleft()

    def _start(self, now: float) -> Start:
        running = (m.task for m in self.machines if m.task >= 0)
        tasks = sorted(running, key=self.sent.__getitem__)
        place = {task: k for k, task in enumerate(tasks)} | {-1: -1}
        for machine in self.machines:
            machine.task = place[machine.task]
        return Start(
            now if self.fruitless < HOPELESS * len(self.machines) else NEVER,
            np.array([self.sent[t] for t in tasks]),
            np.array([self.back[t] for t in tasks]),
            np.array([self.told[t] for t in tasks]),
            _as_found(self.machines[: self.unreliable]),
            _as_found(self.machines[self.unreliable :]),
            self.cost,
            0.0,
        )


def _in_use(world: World, strategy: Strategy) -> tuple[int, int]:
    """The machines of either pool that the phase uses."""
    unreliable = 0 if strategy.opening is Opening.RELIABLE else world.machines
    alone = strategy.opening is Opening.UNRELIABLE
    reliable = 0 if alone else world.reliable_machines(strategy.M_r)
    if not unreliable + reliable:
        raise ValueError(f"{strategy} uses no machines at all in its throughput phase")
    return unreliable, reliable


def _as_found(machines: list[_Machine]) -> Machines:
    return Machines(
        np.array([m.free for m in machines]),
        np.array([m.since for m in machines]),
        np.array([m.state for m in machines], dtype=np.int8),
        np.array([m.task for m in machines], dtype=np.intp),
        np.array([m.owed for m in machines]),
    )


def _stretch(world: World, strategy: Strategy, tasks: int, rng: Generator) -> tuple[float, float]:
    """The seconds and the price of so many tasks while all machines work, on average."""
    per_second = paid = 0.0  # results; money
    in_use = _in_use(world, strategy)
    for pool, count in zip((world.unreliable, world.reliable), in_use, strict=True):
        if pool is None or not count:
            continue
        deadline = NEVER if pool is world.reliable else world.throughput_deadline
        drawn = pool.draw(rng, 20_000).by(deadline, pool.ending_seconds)
        returned = drawn.back < NEVER
        lost = float(np.mean(drawn.machine != ALIVE))
        each = float(np.mean(drawn.end)) + lost * pool.start_seconds
        per_second += count * float(np.mean(returned)) / each
        if world.billing is Billing.RESULTS:
            paid += count * float(np.mean(np.where(returned, drawn.back, 0.0))) / each * pool.rate
        else:  # a machine that is lost leaves half an ATU unused
            paid += count * (pool.rate + lost / each * pool.price / 2)
    seconds = tasks / per_second if per_second else NEVER
    return seconds, seconds * paid
