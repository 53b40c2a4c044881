"""Whatever the bag, the offerings and the mishaps: the money lasts, no task is lost, the run ends.

Each run checks the engine's books after every event, and at the end an account of money and results
that the simulated world kept by itself.
"""

import os
import random
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.workbench import HOUR, MINUTE

from bats.common.billing import charge
from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.commands import BagOutcome
from bats.master.brain.protocol.events import Cancelled, Chosen
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.simulate.driver import NEVER, Conditions, Simulation
from bats.master.simulate.workloads import WORKLOADS

RUNS = int(os.environ.get("BATS_PROMISE_RUNS", "5000"))
BATCH = 250
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


def tell(seed: int) -> Simulation:
    story = invent(seed)
    limit_seen: list[Money | None] = []

    def after_event(engine: Engine) -> None:
        engine.check()
        limit_seen.append(engine.run.ledger.limit)

    simulation = Simulation(
        story.settings,
        lambda task, cluster: float(story.runtimes[task] / story.speeds[cluster]),
        story.conditions,
        seed,
        after_event=after_event,
    )
    history = simulation.run()
    run = simulation.engine.run
    if run.pause is not None:  # its user gives it up
        simulation.tell(Cancelled("cancelled"), run.now + 60)
        history = simulation.go_on()

    assert simulation.engine.over, f"seed {seed}: the run never ended"
    assert history.end is not None
    for ended in history.records.values():
        assert len(ended) == 1, f"seed {seed}: a task was recorded twice"
    if history.end.outcome is BagOutcome.COMPLETE:
        assert set(history.records) == set(range(story.settings.tasks))
    if history.end.outcome in (BagOutcome.COMPLETE, BagOutcome.WITH_FAILURES):
        assert run.tasks.unfinished == 0
    spent = sum(
        charge(story.settings.offerings[cluster], gone - since)
        for cluster, since, gone in history.uptimes.values()
    )
    assert spent == run.ledger.settled, f"seed {seed}: the ledger is not what the world charged"
    if story.settings.budget is not None:
        assert spent <= story.settings.budget, f"seed {seed}: overspent"
    if limit_seen[-1] is not None:
        assert spent <= limit_seen[-1]
    return simulation


@pytest.mark.parametrize("first", range(0, RUNS, BATCH))
def test_the_promises_hold_in_every_story(first: int) -> None:
    for seed in range(first, min(first + BATCH, RUNS)):
        tell(seed)


def test_the_stories_are_of_many_kinds() -> None:
    outcomes = {tell(seed).history.end.outcome for seed in range(120)}  # type: ignore[union-attr]
    assert {BagOutcome.COMPLETE, BagOutcome.WITH_FAILURES, BagOutcome.OUT_OF_BUDGET} <= outcomes


def test_the_same_seed_tells_the_same_story() -> None:
    first, second = tell(77), tell(77)
    assert first.history.decisions == second.history.decisions
    assert first.history.uptimes == second.history.uptimes
