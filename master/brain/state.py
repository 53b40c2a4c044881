"""All that the engine knows of one run. Rules change it; nothing else does."""

import heapq
import random
from dataclasses import replace
from enum import Enum
from itertools import count

from bats.common.billing import atus
from bats.common.messages import MachineId, TaskId
from bats.common.money import NOTHING, Money, show
from bats.common.offering import Offering
from bats.master.brain.commands import BagOutcome, Command, Decided, EndBag, KillTask
from bats.master.brain.events import Ending
from bats.master.brain.ledger import Ledger
from bats.master.brain.machine import Machine, MachineState
from bats.master.brain.mix import Cluster, Mix
from bats.master.brain.profile import RuntimeProfile
from bats.master.brain.regression import SAME, Line
from bats.master.brain.schedules import Schedule
from bats.master.brain.settings import Settings
from bats.master.brain.taskbook import TaskBook

MANUAL = "manual"
"""The back end of machines that users start themselves: never asked for, taken when they come."""


class Phase(Enum):
    SAMPLING = "sampling"
    CHOOSING = "choosing"  # schedules are offered; nobody has picked one yet
    EXECUTING = "executing"
    ENDING = "ending"  # nothing will run any more; machines are being stopped
    ENDED = "ended"


class ClusterState:
    """What is known of one offering."""

    __slots__ = (
        "index",
        "line",
        "offering",
        "profile",
        "set_aside",
        "start_count",
        "start_failures",
        "start_seconds_sum",
    )

    def __init__(self, index: int, offering: Offering) -> None:
        self.index = index
        self.offering = offering
        self.profile = RuntimeProfile()
        self.line: Line = SAME  # from the canonical cluster to this one
        self.set_aside = ""  # why no more machines of it are asked for
        self.start_failures = 0  # in a row
        self.start_count = 0
        self.start_seconds_sum = 0.0

    @property
    def startable(self) -> bool:
        return not self.set_aside and self.offering.backend != MANUAL

    @property
    def start_seconds(self) -> float:
        return self.start_seconds_sum / self.start_count if self.start_count else 0.0


class Sample:
    """The state of the sampling phase (science.md, section 6)."""

    __slots__ = ("base", "left", "observed", "open", "replicated", "size")

    def __init__(self, size: int, clusters: int) -> None:
        self.size = size  # n: how many distinct tasks
        self.replicated: tuple[TaskId, ...] = ()
        self.left: list[list[TaskId]] = [[] for _ in range(clusters)]  # still to be sent there
        self.open: list[set[TaskId]] = [set() for _ in range(clusters)]  # not ended there yet
        self.observed: list[dict[TaskId, float]] = [{} for _ in range(clusters)]
        self.base = 0


class Plan:
    """The mix being executed and what it was expected to do."""

    __slots__ = ("at", "makespan_seconds", "mix", "tasks")

    def __init__(self, mix: Mix, tasks: int, makespan_seconds: float, at: float) -> None:
        self.mix = mix
        self.tasks = tasks
        self.makespan_seconds = makespan_seconds
        self.at = at


class Run:
    """One bag being run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rng = random.Random(settings.seed)
        self.now = 0.0
        self.phase = Phase.SAMPLING
        self.tasks = TaskBook(settings.tasks, self.rng)
        self.clusters = [ClusterState(k, o) for k, o in enumerate(settings.offerings)]
        self.machines: dict[MachineId, Machine] = {}
        self.living: list[dict[MachineId, Machine]] = [{} for _ in settings.offerings]
        self.ledger = Ledger(settings.budget)
        self.canonical = RuntimeProfile()
        self.sample: Sample | None = None
        self.schedules: tuple[Schedule, ...] = ()
        self.chosen: str = ""
        self.chosen_at = 0.0
        self.chosen_committed = NOTHING  # for machines until then, paid time to come included
        self.deadline_at: float | None = None
        self.delta_n = 0  # ΔN of the chosen schedule: what its cushion is for
        self.cushion = settings.cushion  # granted, not yet opened
        self.plan: Plan | None = None
        self.short_of_money = False  # the user has been told that the budget will not do
        self.outcome: BagOutcome | None = None
        self.duplicates = 0  # results of tasks that were done already
        self.hungry: dict[MachineId, None] = {}  # just got a free slot: to be filled
        self.idle: dict[MachineId, None] = {}  # had a free slot and there was nothing for it
        self.next_monitor = 0.0
        self.alarms: list[tuple[float, int, MachineId]] = []  # when to look at a machine again
        self.order = count()
        self.woken_at: float | None = None
        self.began_at = 0.0
        self.ended_at: float | None = None
        self.out: list[Command] = []
        self.oracle: object = None  # the simulator's knowledge of true runtimes; never live
        self._machine_ids = count(1)

    # --- words and ends --------------------------------------------------------------------------

    def say(self, words: str) -> None:
        self.out.append(Decided(words))

    def shown(self, amount: Money) -> str:
        return show(amount, self.settings.currency)

    def end(self, outcome: BagOutcome, words: str) -> None:
        self.outcome = outcome
        self.phase = Phase.ENDING
        self.ended_at = self.now
        self.out.append(EndBag(outcome, words))

    # --- machines --------------------------------------------------------------------------------

    def new_machine_id(self) -> MachineId:
        return MachineId(next(self._machine_ids))

    def add(self, machine: Machine) -> None:
        self.machines[machine.id] = machine
        self.living[machine.cluster][machine.id] = machine

    def forget(self, machine: Machine) -> None:
        del self.living[machine.cluster][machine.id]
        self.hungry.pop(machine.id, None)
        self.idle.pop(machine.id, None)

    def alive(self) -> list[Machine]:
        return [machine for group in self.living for machine in group.values()]

    def staying(self, cluster: int) -> list[Machine]:
        return [m for m in self.living[cluster].values() if m.staying]

    def term(self, offering: Offering) -> int:
        """How many ATUs are reserved at a time."""
        return max(1, round(self.settings.term_seconds / offering.atu_seconds))

    def first_term(self, offering: Offering) -> int:
        return max(self.term(offering), atus(offering, 0.0))

    def alarm(self, machine: Machine, at: float) -> None:
        heapq.heappush(self.alarms, (at, next(self.order), machine.id))

    def cancel_copies(self, task: TaskId, *, but_sample: bool = False) -> None:
        """`but_sample`: one that runs for the sample goes on, for its runtime."""
        for copy in self.tasks.running.get(task, ()):
            if but_sample and copy.sampling:
                continue
            self.out.append(KillTask(copy.machine, task, copy.attempt))

    # --- what is known ---------------------------------------------------------------------------

    def elapsed(self, cluster: int) -> list[float]:
        """How long each running task of a cluster has been running."""
        return [
            self.now - attempt.since
            for machine in self.living[cluster].values()
            if machine.state is MachineState.UP
            for attempt in machine.active.values()
        ]

    def known(self) -> list[ClusterState]:
        """Clusters whose runtimes are known."""
        return [c for c in self.clusters if c.profile.count]

    def planning_clusters(self, *, standing: bool = True) -> tuple[Cluster, ...]:
        """What the planner may use: T_i with running tasks, and how many machines can be had.

        With `standing` the machines that are there count even of an offering that gives no more.
        """
        result = []
        for c in self.clusters:
            limit = c.offering.max_machines if c.startable else 0
            if standing:
                limit = max(limit, len(self.staying(c.index)))
            if not c.profile.count:
                limit = 0
            mean = c.profile.mean_with_running(self.elapsed(c.index)) if c.profile.count else 1.0
            offering = c.offering
            if not self.settings.prudence:  # the paper takes all paid time for worked
                offering = replace(offering, boundary_seconds=0.0)
            result.append(Cluster(offering, mean, limit, c.start_seconds))
        return tuple(result)

    def observe(self, machine: Machine, ending: Ending) -> None:
        """Learn from a task that was done."""
        machine.done_count += 1
        machine.done_seconds += ending.seconds
        cluster = self.clusters[machine.cluster]
        if self.phase is Phase.SAMPLING and self.sample is not None:
            self.sample.observed[machine.cluster][ending.task] = ending.seconds
        else:
            cluster.profile.add(ending.seconds)
            self.canonical.add(self.to_canonical(machine.cluster, ending.seconds))

    def stopped(self, task: TaskId, cluster: int, seconds: float) -> None:
        """An attempt was stopped after so long: the task takes longer than that."""
        if self.to_canonical(cluster, seconds) > self.outlasted(task):
            self.tasks.stopped[task] = cluster, seconds

    def outlasted(self, task: TaskId) -> float:
        """For how long a stopped attempt of it had run, on the canonical cluster; 0: none was."""
        stopped = self.tasks.stopped.get(task)
        return self.to_canonical(*stopped) if stopped else 0.0

    def to_canonical(self, cluster: int, seconds: float) -> float:
        line = self.clusters[cluster].line
        if line is SAME:
            return seconds
        return max((seconds - line.beta0) / line.beta1, 1e-9)
