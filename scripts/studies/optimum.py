"""The optimum of chapter 5 of the thesis (§5.6.1): who does what when, for a budget an interval.

A mixed-integer program by HiGHS, for 20 tasks at most. Slots t are whole; a task j takes R_jk of
them on a machine k; an interval m has L slots, and each machine used in it costs P_k. Workflow w
comes at A_w and should end within C_w, its critical path on the fastest kinds: in time it is worth
1, and less by a slot's lateness after that.

Machines of a kind are alike, so that the program counts them. Handed out afterwards, in the order
of the starts and to machines used in the interval already first, no more are used than counted.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_matrix

from bats.master.brain.graphs.adjacency import Neighbours
from bats.master.brain.graphs.ranks import upward


@dataclass(frozen=True)
class Wanted:
    """A workflow: A_w, and R_j of each task by kind, in slots."""

    at: int
    near: Neighbours
    slots: Sequence[Sequence[int]]  # of each kind, of each task

    @property
    def deadline(self) -> int:
        """The slot before which it should end: A_w + C_w."""
        fastest = [float(min(one)) for one in zip(*self.slots, strict=True)]
        return self.at + int(max(upward(self.near, fastest)))

    def worth(self, end: int) -> int:
        """(5.21) h_w."""
        return 1 if end <= self.deadline else self.deadline - end


@dataclass(frozen=True)
class Instance:
    workflows: Sequence[Wanted]
    machines: Sequence[int]  # of each kind
    prices: Sequence[int]
    interval: int  # L

    @property
    def kinds(self) -> range:
        return range(len(self.machines))


class Begun(NamedTuple):
    workflow: int
    task: int
    kind: int
    machine: int  # of its kind
    slot: int


class Optimum(NamedTuple):
    value: float
    plan: tuple[Begun, ...]
    proven: bool


Key = tuple[int, ...]


def optimum(of: Instance, budget: int, slots: int, seconds: float = 120.0) -> Optimum | None:
    """The best plan within so many slots; None if there is none."""
    program = _Program(of, budget, slots)
    found = program.solve(seconds)
    if found.x is None:
        return None
    starts = [key[1:] for key, at in program.columns.items() if key[0] == 0 and found.x[at] > 0.5]
    value = -float(found.fun)
    return Optimum(value, tuple(_hand_out(of, starts)), found.status == 0)


class _Program:
    """Columns: (0, w, j, k, t) a task begins, (1, w, t) a workflow ends, (2, k, m) machines."""

    def __init__(self, of: Instance, budget: int, slots: int) -> None:
        self.of = of
        self.slots = slots
        self.intervals = -(-slots // of.interval)
        self.columns: dict[Key, int] = {}
        self._rows: list[tuple[dict[int, float], float, float]] = []
        for w, one in enumerate(of.workflows):
            for j, k in itertools.product(range(len(one.near)), of.kinds):
                for t in range(one.at, slots - one.slots[k][j] + 1):
                    self._column(0, w, j, k, t)
            for t in range(one.at, slots + 1):
                self._column(1, w, t)
        for k, m in itertools.product(of.kinds, range(self.intervals)):
            self._column(2, k, m)
        self._tasks_once()
        self._parents_first()
        self._ends()
        self._machines(budget)

    def solve(self, seconds: float) -> OptimizeResult:
        gains = np.zeros(len(self.columns))
        most = np.ones(len(self.columns))
        for key, at in self.columns.items():
            if key[0] == 1:
                gains[at] = -self.of.workflows[key[1]].worth(key[2])
            if key[0] == 2:
                most[at] = self.of.machines[key[1]]
        entries = [(r, c, v) for r, (row, *_) in enumerate(self._rows) for c, v in row.items()]
        rows, columns, values = zip(*entries, strict=True)
        shape = (len(self._rows), len(self.columns))
        matrix = csr_matrix((values, (rows, columns)), shape=shape)
        lower, upper = ([row[1] for row in self._rows], [row[2] for row in self._rows])
        return milp(
            gains,
            constraints=LinearConstraint(matrix, lower, upper),
            bounds=Bounds(0, most),
            integrality=np.ones(len(self.columns)),
            options={"time_limit": seconds},
        )

    def _column(self, *key: int) -> None:
        self.columns[key] = len(self.columns)

    def _row(self, terms: Iterator[tuple[int, float]], least: float, most: float) -> None:
        row: dict[int, float] = {}
        for column, value in terms:
            row[column] = row.get(column, 0.0) + value
        if row:
            self._rows.append((row, least, most))

    def _begins(self, w: int, j: int, by: int) -> Iterator[int]:
        """Columns in which the task begins by then."""
        one = self.of.workflows[w]
        for k in self.of.kinds:
            for t in range(one.at, min(by, self.slots - one.slots[k][j]) + 1):
                yield self.columns[0, w, j, k, t]

    def _over(self, w: int, j: int, by: int) -> Iterator[int]:
        """Columns in which the task has ended by then."""
        one = self.of.workflows[w]
        for k in self.of.kinds:
            for t in range(one.at, by - one.slots[k][j] + 1):
                yield self.columns[0, w, j, k, t]

    def _tasks_once(self) -> None:
        """(5.15)."""
        for w, one in enumerate(self.of.workflows):
            for j in range(len(one.near)):
                self._row(((c, 1.0) for c in self._begins(w, j, self.slots)), 1, 1)

    def _parents_first(self) -> None:
        """(5.19), slot by slot: who has begun by t has parents that have ended by t."""
        for w, one in enumerate(self.of.workflows):
            for child, parents in enumerate(one.near.parents):
                for parent, t in itertools.product(parents, range(one.at, self.slots)):
                    begun = ((c, 1.0) for c in self._begins(w, child, t))
                    over = ((c, -1.0) for c in self._over(w, parent, t))
                    self._row(itertools.chain(begun, over), -np.inf, 0)

    def _ends(self) -> None:
        """(5.22, 5.23): a workflow has ended by t once all its last tasks have."""
        for w, one in enumerate(self.of.workflows):
            ended = [self.columns[1, w, t] for t in range(one.at, self.slots + 1)]
            self._row(((c, 1.0) for c in ended), 1, 1)
            last = [j for j, children in enumerate(one.near.children) if not children]
            for j, t in itertools.product(last, range(one.at, self.slots + 1)):
                told = ((c, 1.0) for c in ended[: t - one.at + 1])
                over = ((c, -1.0) for c in self._over(w, j, t))
                self._row(itertools.chain(told, over), -np.inf, 0)

    def _machines(self, budget: int) -> None:
        """(5.16-5.18, 5.24): no more run than are used, and these cost no more than the budget."""
        running: dict[tuple[int, int], list[int]] = {}
        for key, column in self.columns.items():
            if key[0] == 0:
                _, w, j, k, t = key
                for slot in range(t, t + self.of.workflows[w].slots[k][j]):
                    running.setdefault((k, slot), []).append(column)
        for (k, slot), columns in running.items():
            used = (self.columns[2, k, slot // self.of.interval], -1.0)
            self._row(itertools.chain(((c, 1.0) for c in columns), [used]), -np.inf, 0)
        for m in range(self.intervals):
            self._row(
                ((self.columns[2, k, m], float(self.of.prices[k])) for k in self.of.kinds),
                0, budget,
            )  # fmt: skip


def _hand_out(of: Instance, starts: Sequence[Key]) -> Iterator[Begun]:
    free_at = [[0] * number for number in of.machines]
    for w, j, k, t in sorted(starts, key=lambda one: one[-1]):
        begin = t // of.interval * of.interval
        free = [m for m, at in enumerate(free_at[k]) if at <= t]
        machine = max(free, key=lambda m: (free_at[k][m] > begin, free_at[k][m]))
        free_at[k][machine] = t + of.workflows[w].slots[k][j]
        yield Begun(w, j, k, machine, t)


def value(of: Instance, plan: Sequence[Begun]) -> int:
    """(5.25) Σ h_w."""
    ends = [0] * len(of.workflows)
    for w, j, k, _, t in plan:
        ends[w] = max(ends[w], t + of.workflows[w].slots[k][j])
    return sum(one.worth(end) for one, end in zip(of.workflows, ends, strict=True))


def faults(of: Instance, budget: int, plan: Sequence[Begun]) -> list[str]:
    """Rules that a plan breaks, found without the program: by going through slots and machines."""
    found = []
    begins = {(one.workflow, one.task): one for one in plan}
    told = {(w, j) for w, one in enumerate(of.workflows) for j in range(len(one.near))}
    if set(begins) != told or len(plan) != len(told):
        found.append("5.15: not every task begins once")
    running: dict[tuple[int, int, int], int] = {}
    for w, j, k, machine, t in plan:
        one = of.workflows[w]
        if t < one.at:
            found.append(f"5.20: task {j} of {w} begins before it has come")
        for parent in one.near.parents[j]:
            before = begins[w, parent]
            if before.slot + one.slots[before.kind][parent] > t:
                found.append(f"5.19: task {j} of {w} begins before {parent} has ended")
        for slot in range(t, t + one.slots[k][j]):
            running[k, machine, slot] = running.get((k, machine, slot), 0) + 1
    if any(count > 1 for count in running.values()):
        found.append("5.18: two tasks on a machine")
    if any(machine >= of.machines[k] for k, machine, _ in running):
        found.append("a machine that is not there")
    for m in {slot // of.interval for *_, slot in running}:
        used = {(k, machine) for k, machine, slot in running if slot // of.interval == m}
        if sum(of.prices[k] for k, _ in used) > budget:
            found.append(f"5.24: interval {m} costs more than {budget}")
    return found
