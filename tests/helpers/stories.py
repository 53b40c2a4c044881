"""Bags, offerings and mishaps drawn at random: a seed tells the same story for ever."""

import random
from dataclasses import dataclass

import numpy as np

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.simulate.driver import NEVER, Conditions
from bats.master.simulate.workloads import WORKLOADS
from helpers.workbench import HOUR, MINUTE

KINDS = tuple(WORKLOADS)
TAILS = ("none", "random", "stochastic", "stochastic+random", "migration+replication")


@dataclass(frozen=True)
class Story:
    settings: Settings
    conditions: Conditions
    runtimes: np.ndarray
    speeds: tuple[float, ...]


def invent(seed: int) -> Story:
    """A random bag, random offerings, a random budget and random mishaps."""
    rng = random.Random(seed)
    tasks = rng.choice([1, 2, 3, 10, 29, 30, rng.randint(31, 120)])
    runtimes = WORKLOADS[rng.choice(KINDS)].draw(tasks, np.random.default_rng(seed))
    scale = rng.choice([0.01, 0.3, 1.0, 4.0]) * 10 * MINUTE / float(np.mean(runtimes))
    offerings, speeds = [], []
    for k in range(rng.randint(1, 3)):
        free = rng.random() < 0.15
        offerings.append(
            Offering(
                ClusterName(f"c{k}"),
                money(0 if free else rng.choice([1, 2, 3, 9, 12])),
                atu_seconds=rng.choice([HOUR, HOUR, HOUR, 5 * MINUTE, 10.0]),
                max_machines=rng.randint(1, 8),
                slots=rng.choice([1, 1, 2, 4]),
                minimum_seconds=rng.choice([0.0, 0.0, 60.0]),
            )
        )
        speeds.append(rng.choice([0.5, 1.0, 2.0, 4.0]))
    dear = rng.random() < 0.3
    conditions = Conditions(
        start_seconds=lambda r, _c: r.uniform(0, 300) if dear else 0.0,
        life_seconds=(
            (lambda r, _c: r.expovariate(1 / (2 * HOUR))) if rng.random() < 0.3 else _forever
        ),
        start_fails=rng.choice([0.0, 0.0, 0.0, 0.2]),
        task_fails=rng.choice([0.0, 0.0, 0.05]),
        answers=lambda schedules, now: (
            (now + 600, Chosen(schedules[0].name if schedules else "fastest"))
        ),
    )
    budget = None if rng.random() < 0.2 else Money(money(rng.randint(1, 60)))
    settings = Settings(
        tasks,
        tuple(offerings),
        budget,
        deadline_seconds=rng.choice([None, None, 3 * HOUR]),
        rule=rng.choice(["fastest", "fastest", "cheapest", "balanced", "ask"]),
        sampling=rng.choice([Sampling.REGRESSION, Sampling.REGRESSION, Sampling.IMPLICIT]),
        tail=rng.choice(TAILS),
        replicate=rng.random() < 0.8,
        retries=rng.choice([0, 1, 3]),
        seed=seed,
    )
    return Story(settings, conditions, runtimes * scale, tuple(speeds))


def _forever(_rng: random.Random, _cluster: int) -> float:
    return NEVER
