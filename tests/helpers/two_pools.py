"""A stupid twin of the estimator: one bag in two pools, one small step of time after another."""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from bats.master.brain.unreliable.pools import Billing, Pool, World
from bats.master.brain.unreliable.strategy import Opening, Strategy

NEVER = math.inf
STEP = 10.0  # seconds


@dataclass(eq=False)
class Task:
    number: int
    sent: float = -NEVER  # when its last instance was
    queued: bool = True
    in_tail: int = 0  # unreliable instances sent there
    last: bool = False  # its reliable instance has been queued
    told: bool = False  # its last instance is known to be lost
    done: float = NEVER


@dataclass(eq=False)
class Machine:
    pool: Pool
    since: float | None = None  # paid since then; None: not asked for
    paid_until: float = 0.0
    starts_until: float = 0.0
    in_the_way_until: float = 0.0  # one that was given up and is not gone yet
    task: Task | None = None
    sent: float = 0.0
    back: float = NEVER  # seconds from then; NEVER: silent or lost
    lost: float = NEVER
    deadline: float = NEVER


class Twin:
    """`now` is the end, `cost` what it came to."""

    def __init__(self, world: World, strategy: Strategy, seed: int) -> None:
        self.world, self.strategy = world, strategy
        self.rng = np.random.default_rng([seed, 77])
        self.now, self.cost, self.tail = 0.0, 0.0, False
        self.tasks = [Task(n) for n in range(world.tasks)]
        self.queue: deque[Task] = deque(self.tasks)  # to the unreliable pool
        self.last: deque[Task] = deque()  # to the reliable one
        self.ur = [Machine(world.unreliable) for _ in range(world.machines)]
        count = world.reliable_machines(strategy.M_r)
        self.r = [Machine(world.reliable) for _ in range(count) if world.reliable]

    def run(self) -> "Twin":
        self._serve()
        while any(task.done == NEVER for task in self.tasks):
            assert self.now < 1e6, "it does not end"
            self._look_for_the_tail()
            self.now += STEP
            for machine in self.ur + self.r:
                self._look_at(machine)
            if self.tail:
                for task in self.tasks:
                    self._queue_if_due(task)
            self._serve()
        for machine in self.ur + self.r:
            self._end_of(machine)
        return self

    def _look_at(self, m: Machine) -> None:
        if m.task is None:
            return
        up, task = self.now - m.sent, m.task
        if m.back <= up and m.back < m.deadline:
            task.done = min(task.done, m.sent + m.back)
            m.task = None
            if self.world.billing is Billing.RESULTS:
                self.cost += m.back * m.pool.rate
        elif m.lost <= up and m.lost < m.deadline:
            m.task = None
            task.told = True
            self._gone(m, m.sent + m.lost)
            self._again(task)
        elif m.deadline <= up:
            m.task = None
            if m.back == NEVER and m.lost == NEVER:
                m.in_the_way_until = m.sent + m.deadline + m.pool.ending_seconds
                self._gone(m, m.in_the_way_until)
            self._again(task)
        elif self.world.kills and task.done < NEVER:
            m.task = None
            m.paid_until = self._paid(m, self.now)
            if m.back == NEVER and m.lost == NEVER:
                self._gone(m, self.now)

    def _again(self, task: Task) -> None:
        """In the throughput phase a task has one instance, and another when that is given up."""
        if not self.tail and task.done == NEVER:
            task.queued = True
            self.queue.append(task)

    def _look_for_the_tail(self) -> None:
        left = sum(task.done == NEVER for task in self.tasks)
        if not self.strategy.tail or self.tail or self.queue:
            return
        if self.strategy.affordable is None:
            self.tail = left < self.world.machines
        elif self.world.reliable is not None:
            each = self.world.reliable.mean_seconds * self.world.reliable.rate
            self.tail = self.cost + left * each <= self.strategy.affordable
        for task in self.tasks if self.tail else ():
            self._queue_if_due(task)

    def _queue_if_due(self, task: Task) -> None:
        due = task.told or self.now >= task.sent + self.strategy.T
        if task.done < NEVER or task.queued or task.last or not due:
            return
        N = NEVER if self.strategy.N is None else self.strategy.N
        task.queued = True
        if task.in_tail < N:
            self.queue.append(task)
        if task.in_tail >= N or self.strategy.both_at_once:
            task.last = True
            self.last.append(task)

    def _serve(self) -> None:
        opening = self.strategy.opening
        for m in self.ur if opening is not Opening.RELIABLE else ():
            self._give(m, self.queue, self.strategy.D)
        for m in self.r:
            if not self.tail and opening is not Opening.UNRELIABLE:
                self._give(m, self.queue, NEVER)
            self._give(m, self.last, NEVER)

    def _give(self, m: Machine, queue: deque[Task], deadline: float) -> None:
        while queue and queue[0].done < NEVER:
            queue.popleft().queued = False
        if m.task is not None or not queue or self.now < m.in_the_way_until:
            return
        if m.since is not None and self.now > m.paid_until + STEP:
            self._gone(m, m.paid_until)  # it was idle and left
        if m.since is None:
            others = self.ur if queue is self.queue and m in self.ur else self.r
            if len(queue) <= sum(one.starts_until > self.now for one in others):
                return  # those that start will do
            m.since, m.starts_until = self.now, self.now + m.pool.start_seconds
            m.paid_until = self._paid(m, m.starts_until)
        if self.now < m.starts_until:
            return
        task = queue.popleft()
        m.task, m.sent, task.sent, task.queued, task.told = task, self.now, self.now, False, False
        task.in_tail += self.tail and queue is self.queue
        m.deadline = deadline if self.tail or deadline == NEVER else self.world.throughput_deadline
        m.back = m.pool.turnaround[int(self.rng.integers(len(m.pool.turnaround)))]
        m.lost = NEVER
        if m.pool.hazard_per_hour:
            lost = float(self.rng.exponential(3600 / m.pool.hazard_per_hour))
            if lost < m.back:
                m.lost, m.back = lost, NEVER
        if self.rng.random() >= m.pool.reliability:
            m.back = NEVER
        m.paid_until = self._paid(m, self.now + min(m.back, m.lost, m.deadline))

    def _end_of(self, m: Machine) -> None:
        """All have results: what runs on is paid to its end, unless it can be killed."""
        if m.task is None or self.world.kills:
            return self._gone(m, self.now if m.task else m.paid_until)
        end = min(m.back, m.lost, m.deadline)
        if m.back < m.deadline and self.world.billing is Billing.RESULTS:
            self.cost += m.back * m.pool.rate
        self._gone(m, m.sent + end)
        return None

    # --- the bill --------------------------------------------------------------------------------

    def _paid(self, m: Machine, until: float) -> float:
        assert m.since is not None
        atus = max(1, math.ceil((until - m.since) / m.pool.atu_seconds))
        return m.since + atus * m.pool.atu_seconds

    def _gone(self, m: Machine, at: float) -> None:
        m.starts_until = 0.0
        if m.since is not None and self.world.billing is Billing.UPTIME:
            atus = max(1, math.ceil((at - m.since) / m.pool.atu_seconds * (1 - 1e-9)))
            self.cost += atus * m.pool.price
        m.since = None
