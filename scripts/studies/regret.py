"""The cost of not knowing: our makespan over that of a planner who knows every runtime.

The clairvoyant needs no sample. She tries the mixes that the budget and a little less may buy, puts
the longest tasks first, and keeps the fastest that the budget really pays for. Ours is the engine
as it is delivered: sample, plan, watch, replicate, with the sample inside the same budget.

Why ours is longer. Order: her longest tasks begin first, ours when they are drawn ("order" is what
her own mix takes with tasks in random order, over what it takes with the longest first). The
sample: until the first tasks have ended on every kind of machine, only a few machines work, but
those that any plan will want. And room: money for tasks longer than those seen so far is held back
until the error of the estimate has shrunk, and what is left of it then buys whole ATUs late.

Billed by the second nothing is rounded, and machines take a while to start, which hers do not:
where that is more than a fiftieth of her makespan, ours is held against hers with one start and
one task more.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import inf
from statistics import median

import numpy as np
from figures import Report

from bats.common.billing import charge
from bats.common.money import Money
from bats.common.offering import Offering
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.planners import KNAPSACK
from bats.master.brain.planning.problem import Problem
from bats.master.brain.planning.schedules import lowest_budget
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workloads import WORKLOADS

from .study import Options, Study, chance, run_all
from .two_clusters import HOUR, MACHINES, SCENARIOS, TASKS, Scenario

BUDGETS = (1.1, 1.25, 1.5, 2.0)  # times Bmin
KINDS = tuple(WORKLOADS)
PAPERS = ("normal", "levy", "multi-modal")
MOST = 1.12  # regret of the paper's bags from the second budget on
MOST_OF_ALL = 1.20  # of all kinds
UNFINISHED = 0.05
BY_SECOND = 1.10
SHORT_START = 0.02  # of her makespan
STARTS = (60.0, 900.0)  # seconds

Job = tuple[str, str, float, int, float, float]  # the last are ATU and start in seconds


@dataclass(frozen=True, slots=True)
class Result:
    completed: bool
    ratio: float  # our makespan over the clairvoyant's
    spent: float  # share of the budget
    waited: float  # share of our makespan until the schedule was chosen
    order: float  # her makespan with the tasks in random order, over hers
    fair: float  # our makespan over hers with a start and a task, where a start is long


def offerings(scenario: Scenario, atu: float) -> tuple[Offering, ...]:
    """Those of the scenario, billed by another ATU at the same rate."""
    return tuple(
        replace(one, atu_seconds=atu, price=Money(round(one.price * atu / one.atu_seconds)))
        for one in scenario.offerings
    )


def clusters(scenario: Scenario, atu: float, mean_seconds: float) -> tuple[Cluster, ...]:
    return tuple(
        Cluster(offering, mean_seconds / speed, MACHINES)
        for offering, speed in zip(offerings(scenario, atu), (1.0, scenario.speed), strict=True)
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
    scenario_name: str, kind: str, budget: Money, seed: int, atu: float
) -> tuple[float, Mix] | None:
    """The makespan in seconds, and the mix."""
    scenario, runtimes = SCENARIOS[scenario_name], bag(kind, seed)
    known = clusters(scenario, atu, float(runtimes.mean()))
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
    name, kind, factor, seed, atu, start = job
    scenario, runtimes = SCENARIOS[name], bag(kind, seed)
    known = clusters(scenario, atu, float(runtimes.mean()))
    budget = Money(int(lowest_budget(known, TASKS) * factor))
    found = clairvoyant(name, kind, budget, seed, atu)
    if found is None:
        return None
    (hers, mix), speeds = found, (1.0, scenario.speed)
    simulation = Simulation(
        Settings(TASKS, offerings(scenario, atu), budget, seed=seed),
        lambda task, cluster: float(runtimes[task]) / speeds[cluster],
        Conditions(start_seconds=lambda _rng, _cluster: start),
    )
    history = simulation.run()
    assert history.ended_at is not None
    run = simulation.engine.headline()
    short, task = start <= SHORT_START * hers, float(np.median(runtimes)) / max(speeds)
    return Result(
        completed=len(history.records) == TASKS,
        ratio=history.ended_at / hers,
        spent=run.settled / budget,
        waited=run.chosen_at / history.ended_at,
        order=as_they_come(runtimes, speeds, mix) / hers,
        fair=history.ended_at / (hers + (0.0 if short else start + task)),
    )


def regret(report: Report, options: Options) -> None:
    kinds = PAPERS if options.quick else KINDS
    results = _all(options, kinds, BUDGETS, "regret", HOUR, (0.0,))
    for factor in BUDGETS:
        for name in SCENARIOS:
            for kind in kinds:
                _row(report, f"{name} {kind} at {factor} Bmin", results, name, kind, factor)
            _row(report, f"{name} at {factor} Bmin", results, name, None, factor)
        _row(report, f"all scenarios at {factor} Bmin", results, None, None, factor)
    for what, of, most in (("paper's bags", PAPERS, MOST), ("all kinds", kinds, MOST_OF_ALL)):
        mine = [r for job, r in results.items() if r and job[1] in of and job[2] > BUDGETS[0]]
        ratio = median(_ratio(r) for r in mine)
        report.bar(f"median regret from {BUDGETS[1]} Bmin on, {what}", most, ratio, ratio <= most)
        _bar_unfinished(report, what, mine)


def by_second(report: Report, options: Options) -> None:
    kinds = PAPERS if options.quick else KINDS
    results = _all(options, kinds, BUDGETS[1:], "regret-by-second", 1.0, STARTS)
    for start in STARTS:
        of_start = {job: r for job, r in results.items() if job[-1] == start}
        for kind in kinds:
            for factor in BUDGETS[1:]:
                what = f"{kind} at {factor} Bmin, starts of {start:g} s"
                _row(report, what, of_start, None, kind, factor)
        for what, of in (("paper's bags", PAPERS), ("all kinds", kinds)):
            mine = [r for job, r in of_start.items() if r and job[1] in of]
            ratio = median(r.fair if r.completed else inf for r in mine)
            words = f"median regret by the second, starts of {start:g} s, {what}"
            report.bar(words, BY_SECOND, ratio, ratio <= BY_SECOND)
            _bar_unfinished(report, f"starts of {start:g} s, {what}", mine)


def _all(
    options: Options,
    kinds: Sequence[str],
    budgets: Sequence[float],
    label: str,
    atu: float,
    starts: Sequence[float],
) -> dict[Job, Result | None]:
    seeds = range(options.bags or (2 if options.quick else 10))
    jobs = [
        (scenario, kind, factor, seed, atu, start)
        for scenario, factor, kind, seed, start in product(SCENARIOS, budgets, kinds, seeds, starts)
    ]
    return dict(zip(jobs, run_all(one, jobs, options, label), strict=True))


def _bar_unfinished(report: Report, what: str, mine: Sequence[Result]) -> None:
    share = sum(not one.completed for one in mine) / len(mine)
    words = f"unfinished of {len(mine)}, {what}"
    report.bar(words, UNFINISHED, round(share, 3), share <= UNFINISHED)


def _ratio(result: Result) -> float:
    return result.ratio if result.completed else inf


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
        for (scenario, of, budget, *_), r in results.items()
        if r and name in (None, scenario) and budget == factor and kind in (None, of)
    ]
    if not cell:
        return
    done = sum(r.completed for r in cell)
    ratio = median(_ratio(r) for r in cell)
    what += f" ({done} of {len(cell)} finish, {median(r.spent for r in cell):.0%} spent, "
    what += f"{median(r.waited for r in cell):.0%} sampling, "
    what += f"order {median(r.order for r in cell):.2f})"
    report.figure(what, None, round(ratio, 3), "× clairvoyant")


STUDIES = (
    Study("regret", "our makespan over that of a clairvoyant planner", regret),
    Study(
        "regret-by-second", "the same where nothing is rounded and machines start late", by_second
    ),
)
