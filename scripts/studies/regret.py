"""The cost of not knowing: our makespan over that of a planner who knows every runtime.

The clairvoyant needs no sample. She tries the mixes that the budget and a little less may buy, puts
the longest tasks first, and keeps the fastest that the budget really pays for. Ours is the engine
as it is delivered: sample, plan, watch, replicate, with the sample inside the same budget.

Why ours is longer. Order: her longest tasks begin first, ours when they are drawn ("order" is what
her own mix takes with tasks in random order, over what it takes with the longest first). The
sample: until the first tasks have ended on every kind of machine, only a few machines work, but
those that any plan will want. And room: money for tasks longer than those seen so far is held back
until the error of the estimate has shrunk, and what is left of it then buys whole ATUs late.
"""

import heapq
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

import numpy as np
from figures import Report

from bats.common.billing import charge
from bats.common.money import Money
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.planners import KNAPSACK
from bats.master.brain.planning.problem import Problem
from bats.master.brain.planning.schedules import lowest_budget
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Simulation
from bats.master.simulate.workloads import WORKLOADS

from .study import Options, Study, chance, run_all
from .two_clusters import MACHINES, SCENARIOS, TASKS, Scenario

BUDGETS = (1.1, 1.25, 1.5, 2.0)  # times Bmin
KINDS = tuple(WORKLOADS)

Job = tuple[str, str, float, int]


@dataclass(frozen=True, slots=True)
class Result:
    completed: bool
    ratio: float  # our makespan over the clairvoyant's
    spent: float  # share of the budget
    waited: float  # share of our makespan until the schedule was chosen
    order: float  # her makespan with the tasks in random order, over hers


def clusters(scenario: Scenario, mean_seconds: float) -> tuple[Cluster, ...]:
    return tuple(
        Cluster(offering, mean_seconds / speed, MACHINES)
        for offering, speed in zip(scenario.offerings, (1.0, scenario.speed), strict=True)
    )


@lru_cache(maxsize=64)
def bag(kind: str, seed: int) -> np.ndarray:
    return np.asarray(WORKLOADS[kind].draw(TASKS, chance(9, KINDS.index(kind), seed)))


def longest_first(
    runtimes: np.ndarray, speeds: tuple[float, ...], mix: Mix
) -> tuple[float, list[float]]:
    """The makespan, and how long each machine is needed."""
    heap = _machines(speeds, mix)
    finish = [0.0] * len(heap)
    for seconds in sorted(runtimes.tolist(), reverse=True):
        # the machine that would end it first, not the one that is free first
        ready = min(heap, key=lambda slot: slot[0] + seconds / slot[2])
        heap.remove(ready)
        at = ready[0] + seconds / ready[2]
        finish[ready[1]] = at
        heapq.heappush(heap, (at, ready[1], ready[2]))
    return max(finish), finish


def as_they_come(runtimes: np.ndarray, speeds: tuple[float, ...], mix: Mix) -> float:
    """The makespan when whichever machine is free first takes the next task."""
    heap = _machines(speeds, mix)
    for seconds in runtimes.tolist():
        free, machine, speed = heap[0]
        heapq.heapreplace(heap, (free + seconds / speed, machine, speed))
    return max(free for free, _, _ in heap)


def _machines(speeds: tuple[float, ...], mix: Mix) -> list[tuple[float, int, float]]:
    """Machines as a heap: when each is free, its number and its speed."""
    each = (speed for speed, count in zip(speeds, mix, strict=True) for _ in range(count))
    return [(0.0, machine, speed) for machine, speed in enumerate(each)]


@lru_cache(maxsize=256)
def clairvoyant(
    scenario_name: str, kind: str, budget: Money, seed: int
) -> tuple[float, Mix] | None:
    """The makespan in seconds, and the mix."""
    scenario, runtimes = SCENARIOS[scenario_name], bag(kind, seed)
    known = clusters(scenario, float(runtimes.mean()))
    best: tuple[float, Mix] | None = None
    for percent in range(100, 84, -3):
        plan = KNAPSACK.fastest(Problem(known, TASKS, Money(budget * percent // 100)))
        if plan is None:
            continue
        makespan, ends = longest_first(runtimes, (1.0, scenario.speed), plan.mix)
        owners = [
            c.offering for c, count in zip(known, plan.mix, strict=True) for _ in range(count)
        ]
        cost = sum(charge(offering, end) for offering, end in zip(owners, ends, strict=True))
        if cost <= budget:
            best = min(best or (makespan, plan.mix), (makespan, plan.mix))
    return best


def one(job: Job) -> Result | None:
    name, kind, factor, seed = job
    scenario, runtimes = SCENARIOS[name], bag(kind, seed)
    known = clusters(scenario, float(runtimes.mean()))
    budget = Money(int(lowest_budget(known, TASKS) * factor))
    found = clairvoyant(name, kind, budget, seed)
    if found is None:
        return None
    (hers, mix), speeds = found, (1.0, scenario.speed)
    simulation = Simulation(
        Settings(TASKS, scenario.offerings, budget, seed=seed),
        lambda task, cluster: float(runtimes[task]) / speeds[cluster],
    )
    history = simulation.run()
    assert history.ended_at is not None
    run = simulation.engine.headline()
    return Result(
        completed=len(history.records) == TASKS,
        ratio=history.ended_at / hers,
        spent=run.settled / budget,
        waited=run.chosen_at / history.ended_at,
        order=as_they_come(runtimes, speeds, mix) / hers,
    )


def regret(report: Report, options: Options) -> None:
    seeds = range(2 if options.quick else 10)
    kinds = KINDS[:3] if options.quick else KINDS
    jobs = [(s, k, f, seed) for s in SCENARIOS for f in BUDGETS for k in kinds for seed in seeds]
    results = dict(zip(jobs, run_all(one, jobs, options, "regret"), strict=True))
    for factor in BUDGETS:
        for name in SCENARIOS:
            for kind in kinds:
                _row(report, f"{name} {kind} at {factor} Bmin", results, name, kind, factor)
            _row(report, f"{name} at {factor} Bmin", results, name, None, factor)
        _row(report, f"all scenarios at {factor} Bmin", results, None, None, factor)
    for factor in BUDGETS[1:]:
        mine = [r for job, r in results.items() if r and job[2] == factor]
        ratio = median(r.ratio if r.completed else float("inf") for r in mine)
        report.bar(f"median regret at {factor} Bmin", 1.15, ratio, ratio <= 1.15)


def _row(
    report: Report,
    what: str,
    results: dict[Job, Result | None],
    name: str | None,
    kind: str | None,
    factor: float,
) -> None:
    """The median over all runs; those that do not finish count as endless."""
    cell = [
        r
        for (scenario, of, budget, _), r in results.items()
        if r and name in (None, scenario) and budget == factor and kind in (None, of)
    ]
    if not cell:
        return
    done = sum(r.completed for r in cell)
    ratio = median(r.ratio if r.completed else float("inf") for r in cell)
    what += f" ({done} of {len(cell)} finish, {median(r.spent for r in cell):.0%} spent, "
    what += f"{median(r.waited for r in cell):.0%} sampling, "
    what += f"order {median(r.order for r in cell):.2f})"
    report.figure(what, None, round(ratio, 3), "× clairvoyant")


STUDIES = (Study("regret", "our makespan over that of a clairvoyant planner", regret),)
