"""Tables 3.1 and 3.2: what a sample with regression costs, the offers, their runs (T §3.3)."""

import math
from statistics import median

import numpy as np
from figures import Report

from bats.common.money import Money, as_decimal, money
from bats.master.brain.planning.mix import Cluster, Mix
from bats.master.brain.planning.schedules import Schedule, lowest_budget
from bats.master.brain.planning.schedules import schedule as promise
from bats.master.brain.protocol.settings import ASK, Sampling, Settings
from bats.master.simulate.driver import Simulation

from .study import Options, Study, run_all
from .two_clusters import (
    HOUR,
    MACHINES,
    MINUTE,
    MONITOR_SECONDS,
    SCENARIOS,
    TASKS,
    Outcome,
    simulate,
    sleep_bag,
)

SAMPLING = {
    "S4-1": (105, 450),
    "S4-3": (105, 450),
    "S1-1": (42, 180),
    "S3-4": (84, 360),
    "S1-4": (42, 180),
}
"""Table 3.1: dollars with regression and without it."""

LEFT = {"S3-4": (889, (15.1, 3.8)), "S4-1": (963, (15.15, 15.15))}
"""The rest that the paper's sample left: tasks, and the mean runtimes in minutes."""

SCHEDULES = (
    ("S3-4", "Sched1", 513, (0, 29)),
    ("S3-4", "Sched2", 615, (6, 32)),
    ("S3-4", "Sched4", 768, (32, 32)),
    ("S4-1", "Sched1", 732, (4, 0)),
    ("S4-1", "Sched2", 872, (32, 1)),
    ("S4-1", "Sched3", 1536, (32, 19)),
    ("S4-1", "Sched4", 1920, (32, 32)),
)
"""Table 3.2: budgets in dollars and mixes, risky ones refined."""

RUNS = (
    ("S3-4", "Sched1", 524, 0, 118),
    ("S3-4", "Sched2/3", 615, 0, 108),
    ("S3-4", "Sched4", 768, 0, 95),
    ("S4-1", "Sched2", 872, 0, 449),
    ("S4-1", "Sched3", 1633, 0, 293),
    ("S4-1", "Sched4 with cushion", 1920, 9, 236),
    ("S4-1", "Sched4 without", 1920, 0, 269),
)
"""The runs of figures 3.4 and 3.5: budget, cushion, makespan in minutes."""


# --- table 3.1 ------------------------------------------------------------------------------------


def sampling_cost(scenario: str, sampling: Sampling, seed: int) -> float:
    """The cost of the sample when the user takes her time to choose."""
    runtimes = sleep_bag(TASKS, seed)
    speeds = (1.0, SCENARIOS[scenario].speed)
    simulation = Simulation(
        Settings(
            TASKS,
            SCENARIOS[scenario].offerings,
            rule=ASK,
            sampling=sampling,
            provisioner="paper",
            monitor_seconds=MONITOR_SECONDS,
            seed=seed,
        ),
        lambda task, cluster: float(runtimes[task]) / speeds[cluster],
    )
    simulation.run(until=2 * HOUR)
    return float(as_decimal(simulation.engine.headline().settled))


def table3_1(report: Report, options: Options) -> None:
    exact = []
    for scenario, published in SAMPLING.items():
        for sampling, dollars in zip(
            (Sampling.REGRESSION, Sampling.IMPLICIT), published, strict=True
        ):
            ours = sampling_cost(scenario, sampling, options.seed)
            report.figure(f"{scenario} {sampling.value} sample", dollars, ours, "$")
            exact.append(ours == dollars)
    report.bar("sampling costs that are the published ones", 10, sum(exact), all(exact))


# --- table 3.2 ------------------------------------------------------------------------------------


def clusters(scenario: str) -> tuple[Cluster, ...]:
    _, means = LEFT[scenario]
    return tuple(
        Cluster(offering, mean * MINUTE, MACHINES)
        for offering, mean in zip(SCENARIOS[scenario].offerings, means, strict=True)
    )


def offered(scenario: str, budget: int) -> Schedule:
    """As the paper refines it: in steps of 1 % of Bmin or of Bfastest, whichever it comes from."""
    tasks, _ = LEFT[scenario]
    known = clusters(scenario)
    highest = sum(c.offering.price * MACHINES for c in known)
    fastest = highest * math.ceil(tasks / sum(c.speed * MACHINES for c in known) / HOUR)
    from_bmin = abs(budget - float(as_decimal(lowest_budget(known, tasks)))) < 0.25 * budget
    reference = lowest_budget(known, tasks) if from_bmin else fastest
    return promise("", known, tasks, money(budget), step=Money(-(-reference // 100)))


def run(job: tuple[str, int, int, int]) -> Outcome:
    scenario, budget, cushion, seed = job
    tasks, means = LEFT[scenario]
    runtimes = sleep_bag(tasks, seed)
    sample = sleep_bag(30, seed + 10_000)
    known = tuple(
        tuple((sample * (mean * MINUTE / float(np.mean(sample)))).tolist()) for mean in means
    )
    settings = Settings(
        tasks,
        SCENARIOS[scenario].offerings,
        money(budget),
        known=known,
        tail="none",
        upgrade=False,
        provisioner="paper",
        cushion=money(cushion),
        monitor_seconds=MONITOR_SECONDS,
        seed=seed,
    )
    return simulate(SCENARIOS[scenario], settings, runtimes)


def table3_2(report: Report, options: Options) -> None:
    right: list[bool] = []
    for scenario, name, budget, mix in SCHEDULES:
        ours: Mix = offered(scenario, budget).mix
        report.figure(f"{scenario} {name} (${budget}) mix", str(mix), str(ours))
        right.append(ours == mix)
    report.bar("mixes that are the published ones", len(right), sum(right), all(right))
    seeds = range(options.seed, options.seed + (3 if options.quick else 30))
    jobs = [(s, budget, cushion, seed) for s, _, budget, cushion, _ in RUNS for seed in seeds]
    outcomes = iter(run_all(run, jobs, options, "table 3.2"))
    worst, overspent = 0.0, 0
    for scenario, name, budget, cushion, minutes in RUNS:
        mine = [next(outcomes) for _ in seeds]
        ours_minutes = median(o.hours * 60 for o in mine)
        report.figure(f"{scenario} {name} makespan", minutes, round(ours_minutes, 1), "min")
        worst = max(worst, abs(ours_minutes / minutes - 1))
        overspent += sum(o.dollars > budget + cushion for o in mine)
    report.bar("largest deviation of a makespan", 0.06, worst, worst <= 0.06)
    report.bar("runs that spent more than budget and cushion", 0, overspent, overspent == 0)


STUDIES = (
    Study("table3.1", "what a sample costs with and without regression", table3_1),
    Study("table3.2", "schedules offered after the sample, and their runs", table3_2),
)
