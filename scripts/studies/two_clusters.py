"""The setting of T §2.3 and §3.3: two clusters of 32 machines, 1000 sleep tasks N(15, √5²) min.

Scenario S_{p-s}: cluster1 charges p times as much as cluster0 ($3) and is s times as fast.
"""

from dataclasses import dataclass

import numpy as np

from bats.common.money import as_decimal, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.planning.mix import Mix
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workloads import normal

HOUR, MINUTE = 3600.0, 60.0
TASKS, MACHINES = 1000, 32
MONITOR_SECONDS = 5 * MINUTE


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    price: int  # of cluster1, in dollars
    speed: float  # of cluster1

    @property
    def offerings(self) -> tuple[Offering, ...]:
        return tuple(
            Offering(ClusterName(name), money(price), HOUR, MACHINES)
            for name, price in (("cluster0", 3), ("cluster1", self.price))
        )


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("S4-1", 12, 1),
        Scenario("S4-3", 12, 3),
        Scenario("S1-1", 3, 1),
        Scenario("S3-4", 9, 4),
        Scenario("S1-4", 3, 4),
    )
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One simulated run."""

    completed: bool
    hours: float
    dollars: float
    mix: Mix  # bought after the sample


def sleep_bag(tasks: int, seed: int) -> np.ndarray:
    """True runtimes on cluster0, in seconds."""
    return np.asarray(normal().draw(tasks, np.random.default_rng([2010, seed])))


def simulate(
    scenario: Scenario,
    settings: Settings,
    runtimes: np.ndarray,
    conditions: Conditions | None = None,
) -> Outcome:
    speeds = (1.0, scenario.speed)
    bought: list[Mix] = []

    def remember_the_first_mix(engine: Engine) -> None:
        if not bought and (plan := engine.explain().plan) is not None:
            bought.append(plan.mix)

    simulation = Simulation(
        settings,
        lambda task, cluster: float(runtimes[task]) / speeds[cluster],
        conditions,
        after_event=remember_the_first_mix,
    )
    history = simulation.run()
    assert history.ended_at is not None
    return Outcome(
        completed=len(history.records) == settings.tasks,
        hours=history.ended_at / HOUR,
        dollars=float(as_decimal(simulation.engine.headline().settled)),
        mix=bought[0] if bought else (MACHINES, MACHINES),
    )
