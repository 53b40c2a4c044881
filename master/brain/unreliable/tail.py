"""The tail under many strategies at once: a row is a lane, one strategy in one repetition.

All lanes step together, each to the next instance of its own that is due. A pool serves first who
was due first, so nothing is sent out of order (§4.4): what is due is sent as soon as a machine is
free, or cancelled if its task has a result by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from bats.common.records import dataclass
from bats.master.brain.arrays import np
from bats.master.brain.unreliable.lanes import Bools, Ints, PoolLanes
from bats.master.brain.unreliable.pools import NEVER, Billing, Fates, Floats, Pool, World
from bats.master.brain.unreliable.strategy import Strategy
from bats.master.brain.unreliable.throughput import Start

if TYPE_CHECKING:
    from numpy.random import Generator

TICK: Final = 1e-9  # of a mean: every task's first instance queues before anybody's second
HOPELESS: Final = 1000  # instances of a task; there will be no result then
_DRAWN: Final = 1 << 16


class Lane(NamedTuple):
    strategy: Strategy
    start: Start


@dataclass(frozen=True, slots=True)
class Ends:
    """The end of each lane."""

    seconds: Floats  # from the beginning of the bag to its last result; NEVER if there is none
    tail_seconds: Floats  # of these, from T_tail on
    cost: Floats
    reliable_instances: Ints
    reliable_used: Ints  # machines
    reliable_queue: Ints  # the longest there was


def run(world: World, lanes: Sequence[Lane], rng: Generator) -> Ends:
    tails = _Tails(world, lanes, rng)
    while tails.step():
        pass
    return tails.ends()


class _Tails:
    """Columns are tasks, in `due` first for unreliable instances and then for reliable ones."""

    def __init__(self, world: World, lanes: Sequence[Lane], rng: Generator) -> None:
        count, R = len(lanes), max(1, *(len(lane.start.sent) for lane in lanes))
        strategies = [lane.strategy for lane in lanes]
        starts = [lane.start for lane in lanes]
        self.world, self.lanes, self.R, self.rng = world, lanes, R, rng
        self.lane: Ints = np.arange(count)
        self.N: Ints = np.array([HOPELESS if s.N is None else s.N for s in strategies])
        self.T: Floats = np.array([s.T for s in strategies])
        self.D: Floats = np.array([s.D for s in strategies])
        self.both: Bools = np.array([s.both_at_once for s in strategies])
        self.tick = TICK * world.T_ur
        self.result = np.full((count, R), -NEVER)  # -NEVER: there is no such task
        self.sends = np.zeros((count, R), dtype=np.intp)
        self.due = np.full((count, 2 * R), NEVER)
        for row, lane in enumerate(lanes):
            self._begin(row, lane)
        self.pools = [
            PoolLanes(
                world.unreliable, world.billing, [s.unreliable for s in starts],
                [world.machines] * count,
            )
        ]  # fmt: skip
        if world.reliable is not None:
            limits = [world.reliable_machines(s.M_r) for s in strategies]
            found = [s.reliable for s in starts]
            self.pools.append(PoolLanes(world.reliable, world.billing, found, limits))
        self.cost: Floats = np.array([s.cost for s in starts])
        if world.billing is Billing.RESULTS:
            self.cost += sum(pool.owed.sum(1) for pool in self.pools)
        self.drawn = {pool.pool: _Drawn(pool.pool, rng) for pool in self.pools}
        self.reliable_instances = np.zeros(count, dtype=np.intp)
        self.queued: list[tuple[Ints, Floats, Floats]] = []  # lanes; from when to when
        # What has ended, by lane.
        self.seconds, self.total = np.zeros(count), np.zeros(count)
        self.used, self.instances = np.zeros(count, np.intp), np.zeros(count, np.intp)

    def _begin(self, row: int, lane: Lane) -> None:
        strategy, start = lane
        there = len(start.sent)
        self.result[row, :there] = start.back
        due = np.maximum(start.at, np.minimum(start.sent + strategy.T, start.told))
        due = np.where(due < start.back, due, NEVER)
        if strategy.N != 0:
            self.due[row, :there] = due
        if strategy.N == 0 or strategy.both_at_once:
            self.due[row, self.R : self.R + there] = due

    def step(self) -> bool:
        """The next instance of every lane; False when no lane has any."""
        column = self.due.argmin(1)
        due = self.due[np.arange(len(column)), column]
        live = due < NEVER
        if not live.all():
            if not live.any():
                self._retire(~live)
                return False
            if live.mean() < 0.75:
                self._retire(~live)
                column, due, live = column[live], due[live], live[live]
        reliable = column >= self.R
        for number, pool in enumerate(self.pools):
            rows = np.flatnonzero(live & (reliable == bool(number)))
            if len(rows):
                self._send(pool, bool(number), rows, column[rows] % self.R, due[rows])
        return True

    def _send(self, pool: PoolLanes, reliable: bool, rows: Ints, task: Ints, due: Floats) -> None:
        best, at, new = pool.first(rows, due)
        result = self.result[rows, task]
        if reliable:
            self.queued.append((self.lane[rows], due, np.minimum(at, result)))
        self.due[rows, task + self.R * reliable] = NEVER
        sent = at < result
        late = ~sent & new & (at - pool.pool.start_seconds < result)
        self.cost[rows[late]] += pool.start(rows[late], best[late], at[late])
        rows, task, best, at, new = rows[sent], task[sent], best[sent], at[sent], new[sent]
        deadline = NEVER if reliable else self.D[rows]
        instances = self.drawn[pool.pool].take(len(rows)).by(deadline, pool.pool.ending_seconds)
        self.cost[rows] += pool.send(rows, best, at, new, task, instances)
        better = at + instances.back < self.result[rows, task]
        result = np.where(better, at + instances.back, self.result[rows, task])
        self.result[rows, task] = result
        if self.world.kills:
            self._kill(rows, task, result)
        following = at + np.minimum(self.T[rows] + self.tick, instances.told)
        following = np.where(following < result, following, NEVER)
        if reliable:
            self.reliable_instances[rows] += 1
        else:
            self.sends[rows, task] += 1
            more = self.sends[rows, task] < np.minimum(self.N[rows], HOPELESS)
            self.due[rows, task] = np.where(more, following, NEVER)
            last = ~more & ~self.both[rows] & (self.N[rows] < HOPELESS)
            self.due[rows, task + self.R] = np.where(last, following, self.due[rows, task + self.R])

    def _kill(self, rows: Ints, task: Ints, at: Floats) -> None:
        known = at < NEVER
        rows, task, at = rows[known], task[known], at[known]
        for pool in self.pools:
            self.cost[rows] -= pool.kill(rows, task, at)

    def _retire(self, ended: Bools) -> None:
        """Write down the lanes that have ended, and forget them."""
        lane = self.lane[ended]
        at = np.array([self.lanes[k].start.at for k in lane])
        last = self.result[ended].max(1, initial=-NEVER)
        self.seconds[lane] = np.maximum(at, last)
        bills = sum(pool.last_bills() for pool in self.pools)
        self.total[lane] = (self.cost + bills)[ended]
        if len(self.pools) > 1:
            self.used[lane] = self.pools[1].used()[ended]
        self.instances[lane] = self.reliable_instances[ended]
        stay = ~ended
        for pool in self.pools:
            pool.keep(stay)
        self.lane, self.N, self.T, self.D = (
            self.lane[stay], self.N[stay], self.T[stay], self.D[stay],
        )  # fmt: skip
        self.both, self.result, self.sends = self.both[stay], self.result[stay], self.sends[stay]
        self.due, self.cost = self.due[stay], self.cost[stay]
        self.reliable_instances = self.reliable_instances[stay]

    def ends(self) -> Ends:
        at = np.array([lane.start.at for lane in self.lanes])
        before = np.array([lane.start.before for lane in self.lanes])
        tail = self.seconds - np.where(at < NEVER, at, 0.0)
        queue = _longest(len(self.lanes), self.queued)
        return Ends(self.seconds + before, tail, self.total, self.instances, self.used, queue)


class _Drawn:
    """Fates of instances of a pool, drawn many at a time."""

    def __init__(self, pool: Pool, rng: Generator) -> None:
        self.pool, self.rng, self.at = pool, rng, 0
        self.fates = pool.draw(rng, 0)

    def take(self, count: int) -> Fates:
        if self.at + count > len(self.fates.back):
            self.fates, self.at = self.pool.draw(self.rng, max(count, _DRAWN)), 0
        begin, self.at = self.at, self.at + count
        back, lost, silent = self.fates
        taken = slice(begin, self.at)
        return Fates(back[taken], lost[taken], silent[taken])


def _longest(lanes: int, waits: Sequence[tuple[Ints, Floats, Floats]]) -> Ints:
    """The most intervals of each lane that overlap: +1 where one begins, -1 where it ends."""
    longest = np.zeros(lanes, dtype=np.intp)
    if not waits:
        return longest
    lane, begin, end = (np.concatenate(part) for part in zip(*waits, strict=True))
    waited = end > begin
    lane, begin, end = lane[waited], begin[waited], end[waited]
    where = np.concatenate([lane, lane])
    when = np.concatenate([begin, end])
    change = np.concatenate([np.ones(len(lane), np.intp), -np.ones(len(lane), np.intp)])
    order = np.lexsort((change, when, where))
    depth = np.cumsum(change[order])  # every lane's changes come to nothing
    np.maximum.at(longest, where[order], depth)
    return longest
