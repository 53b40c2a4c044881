"""The setting of T ch. 4 and 5: three clouds of 24 machines, bags of 1000 tasks, samples of 30."""

from collections.abc import Sequence

import numpy as np

from bats.common.money import Money, as_decimal, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.learning.regression import Line
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.prediction.rollout import Floats, Ints, Lines, Slots
from bats.master.simulate.workloads import multi_modal, normal, truncated_levy

TASKS, SAMPLE = 1000, 30
HOUR = 3600.0
SPEEDS = (1.0, 3.0, 2.0)
OFFERINGS = tuple(
    Offering(ClusterName(name), money(price), HOUR, 24)
    for name, price in (("A", 3), ("B", 12), ("C", 3))
)
PRICES = np.array([float(as_decimal(offering.price)) for offering in OFFERINGS])  # dollars
LINES = Lines([Line(0.0, 1 / speed) for speed in SPEEDS])

BAGS = {"NDB": normal(), "LTB": truncated_levy(), "MDB": multi_modal()}
"""By the names that the paper gives them."""


def clusters(mean_seconds: float) -> tuple[Cluster, ...]:
    return tuple(
        Cluster(offering, mean_seconds / speed, offering.max_machines)
        for offering, speed in zip(OFFERINGS, SPEEDS, strict=True)
    )


def samples(runtimes: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple((runtimes / speed).tolist()) for speed in SPEEDS)


def slots(mixes: Sequence[Mix]) -> Slots:
    """One run per mix, all ready at once; runs of small mixes are filled up."""
    widest = max(sum(mix) for mix in mixes)
    kind: Ints = np.zeros((len(mixes), widest), dtype=np.intp)
    ready = np.full(kind.shape, np.inf)
    for row, mix in enumerate(mixes):
        machines = np.repeat(np.arange(len(mix)), mix)
        kind[row, : machines.size] = machines
        ready[row, : machines.size] = 0.0
    return Slots.fresh(kind, ready)


def cost(kind: Ints, used: Floats) -> Floats:
    """Dollars of each run: every machine is paid until its last task ends."""
    there = np.isfinite(used)
    atus = np.maximum(np.ceil(np.where(there, used, 0.0) / HOUR * (1 - 1e-9)), 1.0)
    return (atus * PRICES[kind] * there).sum(axis=1)


def dollars(amount: Money) -> float:
    return float(as_decimal(amount))
