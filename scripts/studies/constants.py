"""Tasks that are all alike: does every offer come to the time and the price that were told?

Nothing is left to chance there: what a copy of the engine does ahead, the engine should do. ATUs
last a second to an hour, tasks half a second to an hour; tasks are few or many, there are two or
three kinds of machines, with and without a start delay. Each offer is chosen in a run of its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median

from figures import Report

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.foresight import foretell

from .study import Options, Study, chance, run_all

KINDS = (("slow", 1.0, "0.36"), ("fast", 2.0, "1.08"), ("between", 1.5, "0.60"))
MACHINES = 8
SECONDS = (0.5, 5.0, 60.0, 900.0, 3600.0)
ATUS = (1.0, 60.0, 3600.0)
TASKS = (20, 60, 300)
STARTS = (0.0, 60.0)
OFF = 0.02

Job = tuple[float, float, int, int, float]


@dataclass(frozen=True, slots=True)
class Offer:
    name: str
    time_off: float  # what came over what was told, less one
    price_off: float
    asked: bool  # for more than was told


def one(job: Job) -> list[Offer]:
    """Nothing of a bag that is over with its sample."""
    shown: list[str] = []

    def look(schedules: tuple[Schedule, ...]) -> str:
        shown[:] = [offer.name for offer in schedules]
        return shown[0]

    first = _run(job, look)
    if not first:
        return []
    others = (partial(_the_one, name) for name in shown[1:])
    return [*first, *(offer for chosen in others for offer in _run(job, chosen))]


def _the_one(name: str, _schedules: tuple[Schedule, ...]) -> str:
    return name


def _run(job: Job, choose: Callable[[tuple[Schedule, ...]], str]) -> list[Offer]:
    seconds, atu, tasks, kinds, start = job
    chosen: list[str] = []

    def answers(schedules: tuple[Schedule, ...], now: float) -> tuple[float, Chosen] | None:
        if chosen:
            return None
        chosen.append(choose(schedules))
        return now, Chosen(chosen[0])

    offerings = tuple(
        Offering(ClusterName(name), Money(int(money(price) * atu / 3600)), atu, MACHINES)
        for name, _, price in KINDS[:kinds]
    )
    simulation = Simulation(
        Settings(tasks, offerings, rule=ASK, seed=1, foresight=True),
        lambda _task, cluster: seconds / KINDS[cluster][1],
        Conditions(start_seconds=lambda _rng, _cluster: start, answers=answers),
        foretell=foretell,
    )
    simulation.run()
    told, run = simulation.engine.view().told, simulation.engine.view()
    if told is None:
        return []
    ended = math.inf if run.ended_at is None else run.ended_at
    return [
        Offer(
            told.name,
            ended / told.seconds - 1,
            float(run.spent) / float(told.cost) - 1 if told.cost else 0.0,
            run.paused is not None,
        )
    ]


def constants(report: Report, options: Options) -> None:
    corners = list(product(SECONDS, ATUS, TASKS, (2, 3), STARTS))
    few = options.bags or (6 if options.quick else len(corners))
    order = chance(options.seed, 15).permutation(len(corners))
    jobs = [corners[k] for k in order[:few]]
    found = run_all(one, jobs, options, "constants")
    for atu in ATUS:
        mine = [o for job, offers in zip(jobs, found, strict=True) if job[1] == atu for o in offers]
        if mine:
            _row(report, f"ATU of {atu:g} s", mine)
    offers = [offer for of_corner in found for offer in of_corner]
    right = sum(_right(offer) for offer in offers)
    report.bar(
        f"offers within {OFF:.0%} of what they come to, of {len(offers)}",
        len(offers),
        right,
        right == len(offers),
    )


def _right(offer: Offer) -> bool:
    return abs(offer.time_off) <= OFF and abs(offer.price_off) <= OFF and not offer.asked


def _row(report: Report, what: str, mine: Sequence[Offer]) -> None:
    time, price = (
        max(abs(getattr(offer, f"{name}_off")) for offer in mine) for name in ("time", "price")
    )
    typical = median(abs(offer.time_off) for offer in mine)
    words = (
        f"{what}: time off by {typical:.1%}, {time:.0%} at most, price {price:.0%} at most; right"
    )
    report.figure(words, None, sum(_right(offer) for offer in mine), f"of {len(mine)}")


STUDIES = (Study("constants", "do offers of tasks all alike come to what was told?", constants),)
