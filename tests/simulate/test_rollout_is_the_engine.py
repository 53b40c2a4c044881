"""What predictors run is what the engine does: the same makespans and bills, tail and all."""

import numpy as np
import pytest

from bats.common.money import as_decimal, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.learning.regression import Line
from bats.master.brain.prediction.predictors import atus_to_work
from bats.master.brain.prediction.rollout import Lines, MeanBeyond, Slots, replicate, run_bag
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.simulate.driver import Simulation
from bats.master.simulate.workloads import WORKLOADS

SPEEDS = (1.0, 3.0, 2.0)
TASKS = 240


@pytest.mark.parametrize("replicated", [True, False])
@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal", "bimodal"])
def test_a_mix_takes_as_long_and_costs_as_much_either_way(bag: str, replicated: bool):
    rng = np.random.default_rng(4)
    tasks = WORKLOADS[bag].draw(TASKS, rng)
    offerings = tuple(
        Offering(ClusterName(name), money(price), 3600, 6)
        for name, price in zip("ABC", (3, 12, 3), strict=True)
    )
    makespans, costs = [], []
    for run in range(16):
        order = rng.permutation(tasks)
        settings = Settings(
            TASKS,
            offerings,
            sampling=Sampling.NONE,
            known=tuple(tuple((tasks / speed).tolist()) for speed in SPEEDS),
            tail="stochastic+random" if replicated else "none",
            seed=run,
        )
        world = Simulation(
            settings, lambda task, cluster, order=order: float(order[task]) / SPEEDS[cluster]
        )
        ended = world.run().ended_at
        assert ended is not None
        makespans.append(ended)
        costs.append(float(as_decimal(world.engine.headline().settled)))

    lines = Lines([Line(0, 1 / speed) for speed in SPEEDS])
    kind = np.tile(np.repeat([0, 1, 2], 6), (400, 1))
    slots = Slots.fresh(kind, np.zeros(kind.shape))
    run_bag(slots, np.array([rng.permutation(tasks) for _ in range(400)]).T, lines)
    used, ours = slots.end, slots.makespans()
    if replicated:
        tail = replicate(slots, lines, MeanBeyond(tasks), rng)
        used, ours = tail.used, tail.makespan
    paid = atus_to_work(offerings[0], used) @ np.repeat([3, 12, 3], 6)
    noise = 3 * np.std(ours) / np.sqrt(len(makespans))
    assert np.mean(makespans) == pytest.approx(ours.mean(), abs=max(noise, 0.01 * ours.mean()))
    noise = 3 * np.std(paid) / np.sqrt(len(costs))
    assert np.mean(costs) == pytest.approx(paid.mean(), abs=max(noise, 0.01 * paid.mean()))
