"""Kinds that ran no task in common, or none in the sample, are not held to be equally fast."""

import numpy as np
import pytest
from helpers.workbench import HOUR, MINUTE, offering

from bats.common.money import money
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workloads import normal

RATIO = 4.0


@pytest.mark.parametrize("budget", [8, 15, 19])
@pytest.mark.parametrize("seed", [3, 5, 7])
def test_a_kind_is_as_fast_as_its_own_tasks_show(seed: int, budget: int) -> None:
    runtimes = normal().draw(100, np.random.default_rng(seed))
    kinds = tuple(
        offering(name, f"{price / 60:.6f}", machines=8, atu=MINUTE)
        for name, price in (("slow", 1.0), ("fast", 3.0))
    )
    world = Simulation(
        Settings(100, kinds, money(budget), seed=seed),
        lambda task, cluster: float(runtimes[task]) / (1.0, RATIO)[cluster],
        Conditions(start_seconds=lambda rng, _: rng.uniform(20, 60)),
        seed,
    )
    world.run(until=3 * HOUR)
    slow, fast = world.engine.run.clusters
    assert slow.profile.count
    assert fast.profile.count
    assert slow.line.beta1 / fast.line.beta1 == pytest.approx(RATIO, rel=0.35)
    assert slow.profile.mean_done / fast.profile.mean_done == pytest.approx(RATIO, rel=0.35)
