"""The estimator of ExPERT's strategies against the engine that runs bags by them, loss and all.

Strategies are drawn at random; each is estimated, and run by the engine in virtual time with a new
draw of what is lost for every seed. Machines are paid for by the ATU whatever returns.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from figures import Report

from bats.common.money import UNITS, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.unreliable.estimator import Estimate, estimate
from bats.master.brain.unreliable.notation import read, write
from bats.master.brain.unreliable.pools import Billing, Pool, World
from bats.master.brain.unreliable.strategy import Strategy
from bats.master.simulate.driver import NEVER, Conditions, Simulation

from .expert import F_S, T_UR
from .study import Options, Study, run_all

HOUR = 3600.0
STRATEGIES = 20
T_R = 2330.0
LARGEST = 0.05


@dataclass(frozen=True)
class Pools:
    """Prices are per ATU of an hour."""

    silent: float  # the share of instances that never return
    hazard: float  # machines lost per hour, which is told
    price: str
    dear: str
    tasks: int = 150
    machines: int = 50
    boot: float = 60.0

    def world(self) -> World:
        return World(
            self.tasks,
            self.machines,
            Pool(F_S, float(self.price), HOUR, self.boot, 1 - self.silent, self.hazard),
            Pool((T_R,), float(self.dear), HOUR, self.boot),
            Billing.UPTIME,
            kills=True,
        )


PUBLISHED = Pools(0.173, 0.0, "0.01", "0.34")
TOLD = Pools(0.02, 0.25, "0.33", "1")


@dataclass(frozen=True)
class Came:
    seconds: float
    cost: float
    complete: bool


def one(job: tuple[Pools, str, int]) -> Came:
    """The bag by the engine, once."""
    return came(simulation(*job))


def came(simulated: Simulation) -> Came:
    history = simulated.run()
    complete = history.end is not None and history.end.outcome.value == "complete"
    cost = simulated.engine.view().spent / UNITS
    return Came(history.ended_at or NEVER, cost, complete)


def simulation(
    pools: Pools, strategy: str, seed: int, look: Callable[[Engine], None] = lambda _engine: None
) -> Simulation:
    kinds = (
        Offering(ClusterName("spot"), money(pools.price), HOUR, pools.machines, reliable=False),
        Offering(ClusterName("sure"), money(pools.dear), HOUR, pools.machines),
    )
    of = Settings(pools.tasks, kinds, None, tail="ntdmr", strategy=strategy, seed=seed)

    def life(rng: random.Random, cluster: int) -> float:
        return NEVER if cluster or not pools.hazard else rng.expovariate(pools.hazard / HOUR)

    conditions = Conditions(
        boot_seconds=pools.boot,
        turnaround=lambda rng, cluster: T_R if cluster else rng.choice(F_S),
        silent=lambda rng, cluster: not cluster and rng.random() < pools.silent,
        life_seconds=life,
    )
    return Simulation(of, lambda _task, _cluster: T_UR, conditions, seed, after_event=look)


def drawn(count: int, seed: int) -> list[Strategy]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        D = float(rng.uniform(0.75, 4.0)) * T_UR
        T = float(rng.uniform(0.0, 1.0)) * D
        N, M_r = int(rng.integers(0, 4)), float(rng.choice([0.02, 0.06, 0.1, 0.2, 0.3, 0.5]))
        found.append(read(write(Strategy(N, T, D, M_r))).strategy)
    return found


def study(report: Report, options: Options) -> None:
    seeds = 4 if options.quick else 50
    strategies = drawn(4 if options.quick else STRATEGIES, options.seed)
    for name, pools in (("silent loss", PUBLISHED), ("told loss", TOLD)):
        told = estimate(pools.world(), strategies, 20 * seeds, options.seed)
        jobs = [(pools, write(s), seed) for s in strategies for seed in range(seeds)]
        came = run_all(one, jobs, options, name)
        errors = [
            _error(report, f"{name}, {write(e.strategy)}", e, came[k * seeds : (k + 1) * seeds])
            for k, e in enumerate(told)
        ]
        report.bar(f"{name}: runs that did all tasks", len(jobs), sum(c.complete for c in came),
                   all(c.complete for c in came))  # fmt: skip
        for what, column in zip(("makespan", "cost"), zip(*errors, strict=True), strict=True):
            within = sum(abs(error) <= LARGEST for error in column)
            report.bar(f"{name}: strategies whose mean {what} is within 5 % of the estimate",
                       len(column), within, within == len(column))  # fmt: skip
            report.figure(f"{name}: mean deviation of the {what}", None,
                          100 * fmean(map(abs, column)), "%")  # fmt: skip


def _error(report: Report, name: str, told: Estimate, came: list[Came]) -> tuple[float, float]:
    """The engine's means above the estimate, as shares of it."""
    seconds = fmean(c.seconds for c in came) / told.seconds - 1
    cost = fmean(c.cost for c in came) / told.cost - 1
    report.figure(f"{name}: makespan, engine above estimate", None, 100 * seconds, "%")
    report.figure(f"{name}: cost, engine above estimate", None, 100 * cost, "%")
    return seconds, cost


STUDIES = (
    Study("expert-engine", "the engine's strategies for two pools against estimates", study),
)
