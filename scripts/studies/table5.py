"""Table 5: how far the tail stretches the makespan, by strategy (T ch. 5).

As in the paper, the mix is fixed and the tail is paid for however long it lasts: the budget shows
in the mix alone. The estimate is N/S with the mean of the whole bag.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, stdev

from figures import Report

from bats.master.brain.planning.schedules import offers, pick
from bats.master.brain.policies.by_name import NTDMR, REPLICATORS
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.simulate.driver import Simulation
from bats.master.simulate.workloads import multi_modal, normal, truncated_levy

from . import plot
from .study import Options, Study, chance, run_all
from .three_clouds import OFFERINGS, SPEEDS, TASKS, clusters

BAGS = {"ND": normal(60, 4 * 5**0.5), "LT": truncated_levy(), "MM": multi_modal()}
BUDGETS = ("cheapest+10%", "fastest")

PUBLISHED: Mapping[str, tuple[float, ...]] = {
    "none": (2.39, 11.52, 5.40, 29.14, 10.93, 48.41),
    "random": (1.15, 6.61, 4.55, 14.90, 10.61, 28.54),
    "stochastic": (1.13, 4.87, 4.66, 14.30, 10.67, 28.95),
    "stochastic+random": (1.11, 4.60, 4.55, 13.17, 10.61, 27.32),
    "migration+replication": (1.19, 4.86, 4.60, 14.38, 10.62, 28.33),
    "perfect": (1.08, 3.47, 4.53, 9.89, 10.61, 24.14),
}
CELLS = tuple((kind, budget) for kind in BAGS for budget in BUDGETS)
ORDER = ("none", "random", "stochastic", "stochastic+random", "perfect")
assert set(PUBLISHED) == set(REPLICATORS) - {NTDMR}  # whose machines are unreliable

Job = tuple[str, str, str, int, int, int]


def stretch(job: Job) -> float:
    """By how many percent the makespan of one run exceeds the estimate."""
    kind, budget, tail, bag, run, seed = job
    runtimes = BAGS[kind].draw(TASKS, chance(4 + seed, bag, list(BAGS).index(kind)))
    schedule = pick(offers(clusters(float(runtimes.mean())), TASKS), budget)
    used = [k for k, count in enumerate(schedule.mix) if count]
    speeds = [SPEEDS[k] for k in used]
    settings = Settings(
        TASKS,
        tuple(replace(OFFERINGS[k], max_machines=schedule.mix[k]) for k in used),
        sampling=Sampling.NONE,
        known=tuple(tuple((runtimes / speed).tolist()) for speed in speeds),
        tail=tail,
        seed=run,
    )
    history = Simulation(
        settings, lambda task, cluster: float(runtimes[task]) / speeds[cluster]
    ).run()
    assert history.ended_at is not None
    return 100 * (history.ended_at / schedule.makespan_seconds - 1)


def table5(report: Report, options: Options) -> None:
    bags, runs = (3, 1) if options.quick else (30, 30)
    each = [(bag, run) for bag in range(bags) for run in range(runs)]
    jobs = [(k, b, tail, *at, options.seed) for k, b in CELLS for tail in PUBLISHED for at in each]
    results = iter(run_all(stretch, jobs, options, "table 5"))
    means: dict[tuple[str, str, str], float] = {}
    noise: dict[tuple[str, str, str], float] = {}
    for column, (kind, budget) in enumerate(CELLS):
        for tail, published in PUBLISHED.items():
            values = [next(results) for _ in each]
            key = kind, budget, tail
            means[key] = fmean(values)
            # runs of a bag resemble one another: the bags are what is independent
            by_bag = [fmean(values[k * runs : (k + 1) * runs]) for k in range(bags)]
            noise[key] = stdev(by_bag) / bags**0.5
            report.figure(f"{kind} {budget} {tail}", published[column], round(means[key], 2), "%")
    for kind in ("ND", "LT"):
        for tail, published in PUBLISHED.items():
            wide = kind == "LT" and tail in ("none", "perfect")
            limit = 4.0 if wide else 2.5
            away = abs(means[kind, "fastest", tail] - published[CELLS.index((kind, "fastest"))])
            report.bar(
                f"{kind} fastest {tail}: points from the published", limit, away, away <= limit
            )
    for column, (kind, budget) in enumerate(CELLS):
        worst = max(
            means[kind, budget, better]
            - means[kind, budget, worse]
            # in the paper itself random is a little better than stochastic in two columns
            - max(0.0, PUBLISHED[better][column] - PUBLISHED[worse][column])
            - 2 * (noise[kind, budget, better] ** 2 + noise[kind, budget, worse] ** 2) ** 0.5
            for worse, better in pairwise(ORDER)
        )
        what = "order broken, points beyond noise and the paper's own"
        report.bar(f"{kind} {budget}: {what}", 0.0, worst, worst <= 0)
    plot.bars(
        options.out / "table5.svg",
        "How far the makespan exceeds the estimate: published, and ours beside it",
        [
            f"{kind}\n{budget.replace('cheapest', 'min')}\n{who}"
            for kind, budget in CELLS
            for who in ("published", "ours")
        ],
        {
            tail: [
                value
                for column, (kind, budget) in enumerate(CELLS)
                for value in (published[column], means[kind, budget, tail])
            ]
            for tail, published in PUBLISHED.items()
        },
        unit=" %",
    )


STUDIES = (Study("table5", "tail strategies: how far the makespan exceeds the estimate", table5),)
