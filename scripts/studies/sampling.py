"""Tables 4.2 to 4.4: how often the intervals for mean and σ hold the true value."""

import numpy as np
from figures import Report

from bats.master.brain.learning.intervals import Moments, mean_interval, sigma_interval
from studies import plot
from studies.study import Options, Study, chance, run_all
from studies.three_clouds import BAGS, TASKS

PUBLISHED = {
    "table4.2": (30, {"mean": (0.85, 0.92, 0.96), "σ": (0.91, 0.91, 0.55)}),
    "table4.3": (50, {"mean": (0.90, 0.93, 0.94), "σ": (0.94, 0.91, 0.50)}),
    "table4.4": (100, {"mean": (0.88, 0.93, 0.93), "σ": (0.94, 0.94, 0.57)}),
}
SAMPLINGS = 100
TOLERANCE = {"NDB": 0.06, "LTB": 0.06, "MDB": 0.10}
"""A share of 100 experiments has a σ of 3 points; the parameters of the MDB are not printed."""


def held(job: tuple[str, int, int, int]) -> tuple[float, float]:
    """Of one bag: the shares of samples whose interval holds its mean, and its σ."""
    name, n, bag, seed = job
    rng = chance(seed, bag, n)
    tasks = BAGS[name].draw(TASKS, rng)
    mean, sigma = tasks.mean(), tasks.std()
    means = sigmas = 0
    for _ in range(SAMPLINGS):
        sample = rng.choice(tasks, n, replace=False)
        known = Moments(n, float(sample.mean()), float(sample.std()))
        means += mean in mean_interval(known)
        sigmas += sigma in sigma_interval(known)
    return means / SAMPLINGS, sigmas / SAMPLINGS


def run(table: str, report: Report, options: Options) -> None:
    n, published = PUBLISHED[table]
    bags = 10 if options.quick else 100
    ours: dict[str, list[float]] = {"mean": [], "σ": []}
    for name in BAGS:
        jobs = [(name, n, bag, options.seed) for bag in range(bags)]
        shares = np.mean(run_all(held, jobs, options, f"{table} {name}"), axis=0)
        for what, share in zip(ours, shares.tolist(), strict=True):
            ours[what].append(share)
    for what, theirs in published.items():
        for name, their, our in zip(BAGS, theirs, ours[what], strict=True):
            report.figure(f"{name}: intervals that hold the {what}, n={n}", their, our, "share")
            off = abs(our - their)
            limit = TOLERANCE[name]
            report.bar(f"{name} {what}: distance to the published share", limit, off, off <= limit)
    plot.bars(
        options.out / f"{table}.svg",
        f"Intervals that hold the true value, n={n} (p = 0.9)",
        [f"{what}\n{name}" for what in ours for name in BAGS],
        {
            "published": [value for what in ours for value in published[what]],
            "ours": [value for what in ours for value in ours[what]],
        },
        lines=[0.9],
        top=1.0,
    )


STUDIES = tuple(
    Study(
        table,
        f"intervals for mean and σ from {n} tasks",
        lambda report, options, table=table: run(table, report, options),  # type: ignore[misc]
    )
    for table, (n, _) in PUBLISHED.items()
)
