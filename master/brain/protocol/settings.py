"""Settings of a run: everything the engine is built from, as plain data."""

import enum
from typing import Final

from bats.common.capacity.resources import Resources
from bats.common.messages import MachineId
from bats.common.money import NOTHING, Money
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.master.brain.protocol.graph import Graph
from bats.master.brain.protocol.parameters import Parameters


class Sampling(enum.StrEnum):
    """Ways to learn runtimes before money is committed."""

    REGRESSION = "regression"  # few tasks on every cluster, lines between clusters
    IMPLICIT = "implicit"  # a full sample on every cluster
    NONE = "none"  # cost-blind: every machine from the start, first come first served


ASK: Final = "ask"
"""The rule of a user who wants to see the schedules first."""


_FROM_ONE: Final = MachineId(0)


@dataclass(frozen=True, slots=True)
class Settings:
    """`budget` caps everything, the sample included; None leaves it to the schedule chosen."""

    tasks: int
    offerings: tuple[Offering, ...]
    budget: Money | None = None
    deadline_seconds: float | None = None
    rule: str = "fastest"  # ASK, cheapest, fastest, balanced, or a schedule's name
    sampling: str = Sampling.REGRESSION
    known: tuple[tuple[float, ...], ...] = ()  # runtimes per offering that make a sample needless
    learned: tuple[tuple[float, ...], ...] = ()  # runtimes per offering that earlier bags had
    learned_weight: tuple[float, ...] = ()  # the tasks that those count as
    learned_losses: tuple[tuple[float, ...], ...] = ()  # of each offering, as `Losses` counts them
    learned_slowness: tuple[tuple[float, ...], ...] = ()  # of each offering's machines, all bags'
    initial_workers: int = 7  # iw: machines per cluster to sample with
    replicated: int = 7  # tasks that every cluster samples
    replicate: bool = True  # whether running tasks may be copied in the tail
    tail: str = "stochastic+random"
    strategy: str = "N=3 T=1x D=2x M_r=0.1"  # of the tail ntdmr; or a static one's name
    planner: str = "knapsack"
    upgrade: bool = True  # take a meaningfully faster mix for the same money
    provisioner: str = "timetable"
    prudence: float = 1.0  # of the timetable, 1: room for two standard errors; 0: as in the paper
    monitor_seconds: float = 0.0  # 0: by tasks, ATU and what is left
    retries: int = 1  # how often a task may fail before it is given up
    max_failures: int = 0  # tasks that may be given up, then it is paused; 0: a dozen alike
    at_once: int = 0  # how many attempts may run at a time, copies included; 0: any number
    task_slots: int = 1  # of a machine's that each task takes; the offerings' count such places
    task_memory: int = 0  # bytes that a task takes of a machine's memory; 0: not counted
    task_gpus: int = 0
    losses: int = 5  # how many machines a task may lose before it is held to be the cause
    cushion: Money = NOTHING
    foresight: bool = False  # schedules are run ahead before one is taken; none did before 0.2.0
    patience_seconds: float = 0.0  # how long a sample waits for a machine; 0: one ATU, at least 60
    currency: str = "$"  # a label; what the offerings' prices are in
    numbers_after: MachineId = _FROM_ONE  # the machines it asks for are numbered on from there
    seed: int = 0
    graph: Graph | None = None  # which tasks wait for which; None: none does
    parameters: Parameters = ()  # of the sweep: runtimes may follow from them
    open: bool = False  # whether tasks may be added; `tasks` are those of its beginning

    @property
    def task(self) -> Resources:
        """The part of a machine that a task takes: of a workflow the most that any does."""
        return Resources(self.task_slots, self.task_memory, self.task_gpus)
