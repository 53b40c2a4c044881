"""ExPERT's Table 5: in 13 settings what the estimator says at T_tail, and what the engine comes to.

The settings differ as the paper's do: tasks, machines, reliability, loss told or silent, strategy.
Online, γ and F_s are what the bag has seen by then; what who knows γ would have told is shown, too.
"""

from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from figures import Report

from bats.master.brain.engine import Engine
from bats.master.brain.policies.known_pools import weighing
from bats.master.brain.unreliable.estimator import Estimate, estimate
from bats.master.brain.unreliable.notation import write
from bats.master.brain.unreliable.preference import PRODUCT
from bats.master.brain.unreliable.strategy import Strategy

from .expert import T_UR
from .expert_engine import Pools, came, simulation
from .study import Options, Study, run_all

TIME: Final = 20.0
COST: Final = 13.0
"""The mean absolute deviations of the paper, online, in percent."""


@dataclass(frozen=True)
class Setting:
    tasks: int
    machines: int
    silent: float
    hazard: float
    N: int
    T: float  # of T_ur
    D: float
    M_r: float

    @property
    def pools(self) -> Pools:
        return Pools(self.silent, self.hazard, "0.01", "0.34", self.tasks, self.machines)

    @property
    def strategy(self) -> Strategy:
        return Strategy(self.N, self.T * T_UR, self.D * T_UR, self.M_r)


SETTINGS: Final = (
    Setting(150, 50, 0.173, 0.0, 3, 1.0, 2.0, 0.02),
    Setting(150, 50, 0.30, 0.0, 2, 1.0, 2.0, 0.1),
    Setting(150, 50, 0.05, 0.0, 1, 1.0, 2.0, 0.1),
    Setting(150, 50, 0.10, 0.0, 0, 0.0, 4.0, 0.2),
    Setting(300, 50, 0.173, 0.0, 1, 0.5, 1.5, 0.06),
    Setting(300, 50, 0.25, 0.0, 3, 0.75, 3.0, 0.1),
    Setting(300, 30, 0.05, 0.0, 2, 1.0, 4.0, 0.1),
    Setting(600, 50, 0.173, 0.0, 3, 1.0, 2.0, 0.04),
    Setting(600, 100, 0.12, 0.0, 2, 1.5, 3.0, 0.05),
    Setting(200, 20, 0.40, 0.0, 2, 1.0, 2.0, 0.2),
    Setting(150, 50, 0.02, 0.25, 1, 1.0, 2.0, 0.1),
    Setting(300, 50, 0.0, 0.5, 2, 1.0, 3.0, 0.06),
    Setting(200, 40, 0.1, 0.2, 0, 1.0, 2.0, 0.3),
)
REPETITIONS: Final = 60


@dataclass(frozen=True)
class Off:
    """The tail's time and the whole bag's cost as told at T_tail, and as they came to be."""

    told_seconds: float
    told_cost: float
    seconds: float
    cost: float
    known_seconds: float  # as told by who knows γ and the hazard
    known_cost: float

    @property
    def errors(self) -> tuple[float, float, float, float]:
        return (
            self.told_seconds / self.seconds - 1,
            self.told_cost / self.cost - 1,
            self.known_seconds / self.seconds - 1,
            self.known_cost / self.cost - 1,
        )


def one(job: tuple[Setting, int]) -> Off:
    setting, seed = job
    told: list[tuple[float, list[Estimate], float]] = []

    def look(engine: Engine) -> None:
        run = engine.run
        if told or run.instances.tail_at is None:
            return
        asked = weighing(run, PRODUCT)
        if asked is None:
            return
        world = asked.known.world
        silent = replace(
            world.unreliable,
            reliability=1 - setting.silent,
            hazard_per_hour=setting.hazard,
        )
        assert world.found is not None
        known = replace(
            world, unreliable=silent, found=replace(world.found, lately=1 - setting.silent)
        )
        found = [
            estimate(each, [setting.strategy], REPETITIONS, seed)[0] for each in (world, known)
        ]
        told.append((run.now, found, asked.spent))

    ended = came(simulation(setting.pools, write(setting.strategy), seed, look))
    ((at, (online, known), spent),) = told
    return Off(
        online.seconds, spent + online.cost, ended.seconds - at, ended.cost,
        known.seconds, spent + known.cost,
    )  # fmt: skip


def study(report: Report, options: Options) -> None:
    seeds = options.seeds(6, 2)
    settings = SETTINGS[:3] if options.quick else SETTINGS
    jobs = [(setting, seed) for setting in settings for seed in seeds]
    offs = run_all(one, jobs, options, "expert-online")
    means: list[list[float]] = []
    for k, setting in enumerate(settings):
        some = [off.errors for off in offs[k * len(seeds) : (k + 1) * len(seeds)]]
        means.append([100 * fmean(map(abs, column)) for column in zip(*some, strict=True)])
        for what, value in zip(("time", "cost"), means[-1], strict=False):
            report.figure(f"{k + 1}: {_words(setting)}: {what} off", None, value, "%")
    time, cost, known_time, known_cost = (fmean(column) for column in zip(*means, strict=True))
    report.figure("mean deviation with γ known: time", 10, known_time, "%")
    report.figure("mean deviation with γ known: cost", 7, known_cost, "%")
    report.bar("mean deviation at T_tail, online: time, %", TIME, time, time <= TIME)
    report.bar("mean deviation at T_tail, online: cost, %", COST, cost, cost <= COST)


def _words(one: Setting) -> str:
    lost = f"γ {1 - one.silent:.2f}" + (f", {one.hazard:g} lost an hour" if one.hazard else "")
    return f"{one.tasks} tasks, {one.machines} machines, {lost}, {one.strategy}"


STUDIES = (
    Study("expert-online", "13 settings: what is told at T_tail, and what the engine does", study),
)
