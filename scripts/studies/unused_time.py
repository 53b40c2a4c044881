"""Paid time that bags have no more use for: all that lending it to other bags could save at most.

A machine's time counts as unused from the end of its last task to the end of what is billed for it.
Two kinds of machines, one twice as fast for 2.2 times the price; budgets of about twice the work.
"""

from statistics import fmean
from typing import Final, NamedTuple

from figures import Report

from bats.common.billing import atus, paid_uptime
from bats.common.messages import MachineId
from bats.common.money import UNITS, Money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.protocol.events import Ended
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Simulation
from studies.study import Options, Study, chance, run_all

ATUS: Final = (1.0, 60.0, 600.0, 3600.0)
BAGS: Final = ((0.02, 2000), (60.0, 100), (60.0, 1000), (21_600.0, 40))  # mean seconds, tasks
SPEEDS: Final = (1.0, 2.0)
PRICES: Final = (1.0, 2.2)  # an hour
SPREAD: Final = 0.5  # of the logarithms of runtimes
MACHINES: Final = 16  # of each kind
USUAL, QUICK = 15, 2


class Cell(NamedTuple):
    atu: float
    mean: float
    tasks: int
    seed: int


def unused(cell: Cell) -> tuple[float, float]:
    """The cost of a bag, and the part of it that was for time after machines' last tasks."""
    atu, mean, tasks, seed = cell
    lengths = mean * chance(seed, tasks).lognormal(0.0, SPREAD, tasks)
    kinds = tuple(
        Offering(ClusterName(name), Money(round(price * atu / 3600 * UNITS)), atu, MACHINES)
        for name, price in zip(("slow", "fast"), PRICES, strict=True)
    )
    least = sum(PRICES) * atu / 3600  # a machine of each kind
    budget = Money(round((2 * lengths.sum() / 3600 * PRICES[0] + 4 * least) * UNITS))
    simulation = Simulation(
        Settings(tasks, kinds, budget, seed=seed),
        lambda task, cluster: float(lengths[task]) / SPEEDS[cluster],
        keep_events=True,
    )
    history = simulation.run()
    last: dict[MachineId, float] = {}
    for at, event in history.events:
        if isinstance(event, Ended):
            last[event.machine] = at
    cost = for_nothing = 0.0
    for machine, (cluster, since, gone) in history.uptimes.items():
        offering = kinds[cluster]
        paid = paid_uptime(offering, atus(offering, gone - since))
        rate = offering.price / offering.atu_seconds
        cost += paid * rate
        for_nothing += (since + paid - last.get(machine, since)) * rate
    return cost, for_nothing


def run(report: Report, options: Options) -> None:
    for atu in ATUS:
        for mean, tasks in BAGS:
            cells = [Cell(atu, mean, tasks, seed) for seed in options.seeds(USUAL, QUICK)]
            found = run_all(unused, cells, options, f"unused-time {atu:g} {mean:g} {tasks}")
            share = fmean(for_nothing / cost for cost, for_nothing in found)
            said = f"ATU {atu:g} s, {tasks:,} tasks of {mean:g} s: paid and not used"
            report.figure(said, None, share, "of the money")


STUDIES = (Study("unused-time", "paid time that bags have no more use for", run),)
