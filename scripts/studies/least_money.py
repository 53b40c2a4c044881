"""L⁺, the least money of a bag: what a clairvoyant pays, and a look at the kinds she does not use.

She knows every runtime. She tries list schedules on every mix of machines, the longest task first,
each on the machine that would end it first; each machine is billed by its own uptime: boot (where
it is billed), work, the minimum and whole ATUs. The cheapest mix counts. Nobody else can know a
kind untried: for each kind that her mix does not use, L⁺ has one machine of it for its boot and one
task of the bag's mean length.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from bats.common.billing import ROUNDING, charge
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.planning.mix import Mix
from bats.master.simulate.workloads import Runtimes


def least_money(
    runtimes: Runtimes, offerings: Sequence[Offering], speeds: Sequence[float], boot_seconds: float
) -> Money:
    """L⁺."""
    money, mix = clairvoyant(runtimes, offerings, speeds, boot_seconds)
    mean = float(runtimes.mean())
    untried = (
        charge(offering, boot_seconds + mean / speed)
        for offering, speed, count in zip(offerings, speeds, mix, strict=True)
        if not count
    )
    return Money(money + sum(untried))


def one_task_of_each(
    runtimes: Runtimes, offerings: Sequence[Offering], speeds: Sequence[float], boot_seconds: float
) -> Money:
    """The cost of trying every kind with one task of the bag's mean length."""
    mean = float(runtimes.mean())
    each = (charge(o, boot_seconds + mean / s) for o, s in zip(offerings, speeds, strict=True))
    return Money(sum(each))


def clairvoyant(
    runtimes: Runtimes, offerings: Sequence[Offering], speeds: Sequence[float], boot_seconds: float
) -> tuple[Money, Mix]:
    """The least that a list schedule costs, and its mix; of several the one of fewest machines."""
    limits = [range(offering.max_machines + 1) for offering in offerings]
    mixes = sorted((mix for mix in product(*limits) if any(mix)), key=sum)
    work = longest_first(runtimes, speeds, mixes)
    owners = np.repeat(np.arange(len(offerings)), [o.max_machines for o in offerings])
    costs = np.zeros(len(mixes), dtype=np.int64)
    for column, kind in enumerate(owners):
        costs += charges(offerings[kind], work[:, column], boot_seconds)
    best = int(np.argmin(costs))
    return Money(int(costs[best])), mixes[best]


def longest_first(runtimes: Runtimes, speeds: Sequence[float], mixes: Sequence[Mix]) -> np.ndarray:
    """For how long each machine works, a row for each mix; machines that it lacks work for 0 s."""
    most = [max(mix[k] for mix in mixes) for k in range(len(speeds))]
    pace = np.repeat(1 / np.asarray(speeds), most)
    number = np.concatenate([np.arange(count) for count in most])
    owner = np.repeat(np.arange(len(speeds)), most)
    there = number < np.asarray(mixes)[:, owner]
    ready = np.where(there, 0.0, np.inf)
    rows = np.arange(len(mixes))
    for seconds in np.sort(runtimes)[::-1]:
        ends = ready + seconds * pace
        first = np.argmin(ends, axis=1)
        ready[rows, first] = ends[rows, first]
    return np.where(there, ready, 0.0)


def charges(offering: Offering, work_seconds: np.ndarray, boot_seconds: float) -> np.ndarray:
    """`billing.charge` of machines that boot and work for so long; nothing where there is no work.

    The same arithmetic for many machines at once; a test holds it to the one place that bills.
    """
    billed = np.maximum(work_seconds + boot_seconds, offering.minimum_seconds)
    entered = np.ceil(billed / offering.atu_seconds * (1 - ROUNDING))
    atus = np.maximum(1, entered).astype(np.int64)
    return np.where(work_seconds > 0, atus * offering.price, 0)
