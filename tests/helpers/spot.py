"""Bags on unreliable and reliable machines in virtual time, and the same for the estimator."""

import random
from dataclasses import dataclass

from bats.common.money import UNITS, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.unreliable.pools import Billing, Pool, World
from bats.master.simulate.driver import NEVER, Conditions, History, Simulation

SPREAD = tuple(1000.0 + 40.0 * k for k in range(60))


@dataclass(frozen=True)
class Spot:
    """Prices are per ATU. Losses: the share of silent instances, the hazard of told ones."""

    tasks: int = 60
    machines: int = 20
    reliable: int = 20
    atu: float = 3600.0
    price: str = "1"
    dear: str = "34"
    silent: float = 0.0
    hazard_per_hour: float = 0.0
    boot: float = 0.0
    turnaround: tuple[float, ...] = SPREAD
    sure: float = 2300.0

    def world(self) -> World:
        cheap = Pool(
            self.turnaround, float(self.price), self.atu, self.boot, 1 - self.silent,
            self.hazard_per_hour,
        )  # fmt: skip
        dear = Pool((self.sure,), float(self.dear), self.atu, self.boot)
        return World(self.tasks, self.machines, cheap, dear, Billing.UPTIME, kills=True)

    def settings(self, strategy: str, *, budget: str = "", seed: int = 1) -> Settings:
        kinds = (
            Offering(
                ClusterName("spot"), money(self.price), self.atu, self.machines, reliable=False
            ),
            Offering(ClusterName("sure"), money(self.dear), self.atu, self.reliable),
        )
        limit = money(budget) if budget else None
        return Settings(self.tasks, kinds, limit, tail="ntdmr", strategy=strategy, seed=seed)

    def simulation(self, strategy: str, *, budget: str = "", seed: int = 1) -> Simulation:
        def turnaround(rng: random.Random, cluster: int) -> float:
            return self.sure if cluster else rng.choice(self.turnaround)

        def life(rng: random.Random, cluster: int) -> float:
            if cluster or not self.hazard_per_hour:
                return NEVER
            return rng.expovariate(self.hazard_per_hour / 3600)

        return Simulation(
            self.settings(strategy, budget=budget, seed=seed),
            lambda _task, cluster: self.sure if cluster else self.turnaround[0],
            Conditions(
                boot_seconds=self.boot,
                turnaround=turnaround,
                silent=lambda rng, cluster: not cluster and rng.random() < self.silent,
                life_seconds=life,
            ),
            seed,
            after_event=Engine.check,
            keep_events=True,
        )

    def run(self, strategy: str, *, budget: str = "", seed: int = 1) -> "Ran":
        simulation = self.simulation(strategy, budget=budget, seed=seed)
        history = simulation.run(until=5e6)
        return Ran(simulation, history)


@dataclass(frozen=True)
class Ran:
    simulation: Simulation
    history: History

    @property
    def complete(self) -> bool:
        return self.history.end is not None and self.history.end.outcome is BagOutcome.COMPLETE

    @property
    def seconds(self) -> float:
        assert self.history.ended_at is not None
        return self.history.ended_at

    @property
    def cost(self) -> float:
        """Currency."""
        return self.simulation.engine.view().spent / UNITS
