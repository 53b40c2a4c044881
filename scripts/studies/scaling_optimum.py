"""Scalers with budgets against the optimum on small workflows (§5.6.2 of the thesis).

A slot is 5 seconds, an interval and ATU 15; workflows come 30 seconds apart.
"""

import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

from figures import Report

from bats.common.money import money
from bats.master.brain.graphs.adjacency import neighbours
from bats.master.brain.placement.arrived_workflow import Workflow
from bats.master.brain.protocol.graph import Step, graph
from bats.master.brain.scaling.elastic_pool import ElasticPool, Rules
from bats.master.brain.scaling.releasing import release
from bats.master.brain.scaling.scaler import Kind
from bats.master.brain.scaling.scalers import placing, scaler
from bats.master.simulate.workflows.elastic_run import Account, Coming, StuckError, run_elastic
from studies.optimum import Begun, Instance, Wanted, faults, optimum, value
from studies.study import Options, Study, chance, run_all

SLOT: Final = 5.0
INTERVAL: Final = 3
APART: Final = 6
MACHINES: Final = (2, 2)
PRICES: Final = (1, 5)
EVERYTHING: Final = 12
BUDGETS: Final = (6, 8, EVERYTHING)
WORKFLOWS: Final = 3
MOST_SECONDS: Final = 120.0


class Found(NamedTuple):
    """The optimum for one budget, and what each scaler reached with it."""

    tasks: int
    value: float
    faults: tuple[str, ...]
    proven: bool
    seconds: float
    reached: dict[str, int | None]  # None: it would never end


def drawn(seed: int) -> Instance:
    """Three workflows of five to seven tasks: each waits for up to two that came before it."""
    rng = chance(seed, 55)
    workflows = []
    for number in range(WORKFLOWS):
        tasks = int(rng.integers(5, 8)) if number else 6
        edges = [
            (int(parent), child)
            for child in range(1, tasks)
            for parent in rng.choice(child, min(child, int(rng.integers(1, 3))), replace=False)
        ]
        near = neighbours(graph([Step("task", tasks)], edges))
        slots = [[int(rng.integers(1, 4)) for _ in range(tasks)] for _ in MACHINES]
        workflows.append(Wanted(number * APART, near, slots))
    return Instance(workflows, MACHINES, PRICES, INTERVAL)


def reached(of: Instance, name: str, budget: int | None) -> Account | None:
    """A run of a scaler; None if it would never end."""
    coming = []
    for one in of.workflows:
        seconds = [[SLOT * slots for slots in kind] for kind in one.slots]
        mean = [sum(pair) / len(pair) for pair in zip(*seconds, strict=True)]
        coming.append(Coming(one.at * SLOT, Workflow(one.near, mean, seconds), seconds))
    kinds = [Kind(str(k), most, money(price)) for k, (most, price) in
             enumerate(zip(of.machines, of.prices, strict=True))]  # fmt: skip
    interval = of.interval * SLOT
    limit = None if budget is None else money(budget)
    rules = Rules(kinds, interval, release("paid", interval), budget=limit)
    own = scaler(name)
    usual = "backfilling" if name == "none" else "priority"
    pool = ElasticPool(rules, own, placing(own, usual))
    try:
        return run_elastic(coming, [pool], partial(float, 0.0))
    except StuckError:
        return None


def plan_of(of: Instance, account: Account) -> list[Begun]:
    """A run as a plan: each machine of the run is one that nobody else has then."""
    lives: dict[int, int] = {}
    until = [[0.0] * number for number in of.machines]
    for number, life in sorted(enumerate(account.lives), key=lambda one: one[1].begin):
        free = next(m for m, end in enumerate(until[life.kind]) if end <= life.begin)
        until[life.kind][free] = life.end
        lives[number] = free
    return [
        Begun(w, j, account.lives[place].kind, lives[place], round(began / SLOT))
        for (w, j), (began, _, place) in account.starts.items()
    ]


def question(job: tuple[int, int]) -> Found:
    seed, budget = job
    of = drawn(seed)
    runs = {name: reached(of, name, budget) for name in ("plf", "scf", "pfa")}
    if budget == EVERYTHING:
        runs["gbf"] = reached(of, "none", None)
    plans = {name: plan_of(of, run) for name, run in runs.items() if run is not None}
    wrong = [f"{name}: {fault}" for name, plan in plans.items()
             for fault in faults(of, budget, plan)]  # fmt: skip
    slots = max(round(run.ended / SLOT) for run in runs.values() if run is not None)
    began = time.monotonic()
    best = optimum(of, budget, -(-slots // INTERVAL) * INTERVAL, MOST_SECONDS)
    seconds = time.monotonic() - began
    tasks = sum(len(one.near) for one in of.workflows)
    told = {name: value(of, plans[name]) if name in plans else None for name in runs}
    if best is None:
        return Found(tasks, float("nan"), ("no plan",), False, seconds, told)
    if round(best.value) != value(of, best.plan):
        wrong.append("5.25: the value told is not that of the plan")
    return Found(
        tasks, best.value, (*wrong, *faults(of, budget, best.plan)), best.proven, seconds, told
    )


def study(report: Report, options: Options) -> None:
    seeds = options.seeds(10, 2)
    jobs = [(seed, budget) for seed in seeds for budget in BUDGETS]
    found = dict(zip(jobs, run_all(question, jobs, options, "scaling-optimum"), strict=True))
    for (seed, budget), one in found.items():
        told = ", ".join(f"{name} {reach}" for name, reach in one.reached.items())
        what = f"instance {seed}, {one.tasks} tasks, budget {budget} ({told})"
        report.figure(what, None, one.value)
    bars(report, found, list(seeds))


def bars(report: Report, found: dict[tuple[int, int], Found], seeds: Sequence[int]) -> None:
    every = list(found.values())
    wrong = [fault for one in every for fault in one.faults]
    report.bar("rules broken by any plan", 0, "; ".join(wrong) or 0, not wrong)
    proven = sum(one.proven for one in every)
    report.bar("optima proven", len(every), proven, proven == len(every))
    below = sum(
        reach is None or reach <= one.value + 1e-6
        for one in every
        for reach in one.reached.values()
    )
    runs = sum(len(one.reached) for one in every)
    report.bar("runs of scalers no better than the optimum", runs, below, below == runs)
    rising = sum(
        found[seed, less].value <= found[seed, more].value + 1e-6
        for seed in seeds
        for less, more in pairwise(BUDGETS)
    )
    steps = len(seeds) * (len(BUDGETS) - 1)
    report.bar("optima no worse with more money", steps, rising, rising == steps)
    most = max(one.tasks for one in every)
    report.bar("tasks of the largest instance", "≤ 20", most, most <= 20)
    slowest = max(one.seconds for one in every)
    report.bar("seconds for one optimum, at most", "< 120", slowest, slowest < MOST_SECONDS)


STUDIES = (Study("scaling-optimum", "scalers with budgets against the optimum", study),)
