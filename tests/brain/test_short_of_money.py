"""Who is told that the money will not do is told what would."""

import re

import numpy as np
import pytest
from helpers.workbench import offering

from bats.common.money import money
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Simulation
from bats.master.simulate.workloads import truncated_levy

SAID = re.compile(r"\$([\d.]+) will hardly finish the last \d+ tasks: that needs about \$([\d.]+)")
SPEEDS = (1.0, 4.0)


@pytest.mark.parametrize("prudence", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_what_finishing_costs_is_more_than_what_is_left(seed: int, prudence: float) -> None:
    runtimes = truncated_levy().draw(1000, np.random.default_rng(seed))
    offerings = offering("slow", 3, machines=32), offering("fast", 3, machines=32)
    settings = Settings(1000, offerings, money(190), prudence=prudence, seed=seed)
    world = Simulation(settings, lambda task, cluster: float(runtimes[task]) / SPEEDS[cluster])
    said = [found for _, words in world.run().decisions if (found := SAID.match(words))]
    assert said
    for left, needed in (found.groups() for found in said):
        assert float(needed) > float(left)
