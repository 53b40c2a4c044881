"""Table 2.1: BaTS without an estimator against round robin, in five scenarios (T §2.3).

The paper ran each experiment once; we run it for several seeds and show the median, and the mix
most often bought. The sample is the implicit one; no tail task is replicated, as in that chapter.

The paper's machines took a while to start and were charged meanwhile; how long is not printed. Its
round robin runs last about two minutes longer than instant machines would, so round robin is shown
with `BOOT_SECONDS`: its makespans are where the two minutes come from, its costs check them.
"""

import math
from collections import Counter
from dataclasses import dataclass
from statistics import median

from figures import Report

from bats.common.money import money
from bats.master.brain.planning.mix import Mix
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.simulate.driver import Conditions

from .study import Options, Study, run_all
from .two_clusters import (
    MONITOR_SECONDS,
    SCENARIOS,
    TASKS,
    Outcome,
    simulate,
    sleep_bag,
)


@dataclass(frozen=True, slots=True)
class Published:
    scenario: str
    run: str
    budget: int | None  # None: round robin, which counts no money
    atus: int
    dollars: int
    mix: Mix


PUBLISHED = (
    Published("S4-1", "RR", None, 5, 2034, (32, 32)),
    Published("S4-1", "BaTS_RR", 2034, 5, 2034, (32, 25)),
    Published("S4-1", "BaTS_Bmin", 1128, 8, 1116, (32, 1)),
    Published("S4-3", "RR", None, 3, 1062, (32, 32)),
    Published("S4-3", "BaTS_RR", 1062, 3, 1062, (30, 18)),
    Published("S4-3", "BaTS_Bmin", 1015, 3, 1014, (30, 16)),
    Published("S1-1", "RR", None, 5, 810, (32, 32)),
    Published("S1-1", "BaTS_RR", 810, 5, 804, (32, 20)),
    Published("S1-1", "BaTS_Bmin", 831, 5, 828, (32, 22)),
    Published("S3-4", "RR", None, 2, 768, (32, 32)),
    Published("S3-4", "BaTS_RR", 768, 2, 744, (32, 32)),
    Published("S3-4", "BaTS_Bmin", 653, 2, 651, (1, 32)),
    Published("S1-4", "RR", None, 2, 384, (32, 32)),
    Published("S1-4", "BaTS_RR", 384, 2, 372, (32, 32)),
    Published("S1-4", "BaTS_Bmin", 309, 2, 309, (11, 32)),
)
BOOT_SECONDS = 120.0
RR_MINUTES = {"S4-1": 246.3, "S4-3": 133.2, "S1-1": 246.3, "S3-4": 110.1, "S1-4": 110.1}

TOO_TIGHT = (("S4-3", 931), ("S1-4", 284))
"""1.1·Bmin, which the paper found too little: BaTS ran out of money and quit."""


def settings(scenario: str, budget: int | None, seed: int) -> Settings:
    blind = budget is None
    return Settings(
        TASKS,
        SCENARIOS[scenario].offerings,
        None if budget is None else money(budget),
        provisioner="cost-blind" if blind else "paper",
        sampling=Sampling.IMPLICIT,
        tail="none",
        upgrade=False,
        monitor_seconds=MONITOR_SECONDS,
        seed=seed,
    )


def one(job: tuple[str, int | None, int, float]) -> Outcome:
    scenario, budget, seed, boot_seconds = job
    return simulate(
        SCENARIOS[scenario],
        settings(scenario, budget, seed),
        sleep_bag(TASKS, seed),
        Conditions(boot_seconds=boot_seconds),
    )


def same_mix(scenario: str, ours: Mix, published: Mix) -> bool:
    """Equal machines at equal prices (S1-1) may be split in any way."""
    return sum(ours) == sum(published) if scenario == "S1-1" else ours == published


def table(report: Report, options: Options) -> None:
    seeds = range(options.seed, options.seed + (5 if options.quick else 30))
    jobs = [
        (p.scenario, p.budget, seed, 0.0 if p.budget else BOOT_SECONDS)
        for p in PUBLISHED
        for seed in seeds
    ]
    outcomes = iter(run_all(one, jobs, options, "table 2.1"))
    within, mixes, times, costs, finished = [], [], [], [], []
    for p in PUBLISHED:
        ours = [next(outcomes) for _ in seeds]
        atus = Counter(math.ceil(o.hours * (1 - 1e-9)) for o in ours).most_common(1)[0][0]
        mix = Counter(o.mix for o in ours).most_common(1)[0][0]
        dollars = median(o.dollars for o in ours)
        share = sum(same_mix(p.scenario, o.mix, p.mix) for o in ours) / len(ours)
        name = f"{p.scenario} {p.run}"
        report.figure(f"{name} makespan", p.atus, atus, "ATU")
        report.figure(f"{name} cost", p.dollars, dollars, "$")
        times.append(atus == p.atus)
        costs.append(abs(dollars / p.dollars - 1))
        if p.budget is None:
            minutes = median(o.hours * 60 for o in ours)
            report.figure(f"{name} makespan", RR_MINUTES[p.scenario], round(minutes, 1), "min")
        else:
            report.figure(f"{name} mix ({share:.0%} of runs)", str(p.mix), str(mix))
            within.append(all(o.dollars <= p.budget for o in ours))
            mixes.append(same_mix(p.scenario, mix, p.mix))
            finished.append(sum(o.completed for o in ours) / len(ours))
    report.bar("BaTS runs that never spent more than the budget", 10, sum(within), all(within))
    report.bar("published mix is the one most often bought", 10, sum(mixes), all(mixes))
    report.bar("published makespan in ATUs", 15, sum(times), all(times))
    report.bar("largest deviation of the median cost", 0.03, max(costs), max(costs) <= 0.03)
    report.bar("share of BaTS runs that finish", 0.95, min(finished), min(finished) >= 0.95)
    _too_tight(report, options, list(seeds))
    _booting(report, options, list(seeds))


def _too_tight(report: Report, options: Options, seeds: list[int]) -> None:
    jobs = [(scenario, budget, seed, 0.0) for scenario, budget in TOO_TIGHT for seed in seeds]
    outcomes = iter(run_all(one, jobs, options, "1.1 Bmin"))
    for scenario, budget in TOO_TIGHT:
        ours = [next(outcomes) for _ in seeds]
        done = sum(o.completed for o in ours) / len(ours)
        report.figure(f"{scenario} at 1.1 Bmin (${budget}): finished", "no", f"{done:.0%} of runs")
        most = max(o.dollars for o in ours)
        report.bar(f"{scenario} at 1.1 Bmin: most ever spent", budget, most, most <= budget)


def _booting(report: Report, options: Options, seeds: list[int]) -> None:
    """The same start-up for BaTS: a mix that stands near a limit may change."""
    bats = [p for p in PUBLISHED if p.budget is not None]
    jobs = [(p.scenario, p.budget, seed, BOOT_SECONDS) for p in bats for seed in seeds]
    outcomes = iter(run_all(one, jobs, options, "with start-up"))
    overspent = 0
    for p in bats:
        ours = [next(outcomes) for _ in seeds]
        overspent += sum(o.dollars > (p.budget or 0) for o in ours)
        mix = Counter(o.mix for o in ours).most_common(1)[0][0]
        if not same_mix(p.scenario, mix, p.mix):
            report.figure(f"{p.scenario} {p.run} mix with start-up", str(p.mix), str(mix))
    report.bar("with start-up: runs that overspent", 0, overspent, overspent == 0)


STUDIES = (Study("table2.1", "BaTS against round robin in five scenarios", table),)
