"""Chapter 3 of the thesis: placement with estimates, right and wrong, and with whole plans."""

import time
from collections.abc import Sequence
from itertools import product

from figures import Report

from bats.master.brain.placement.arrived_workflow import Present, Workflow
from bats.master.brain.placement.pool import Pool
from bats.master.brain.placement.whole_plan import WholePlan
from studies.pools import (
    SAME_SPEED,
    TWO_SPEEDS,
    Case,
    Seen,
    coming,
    most_stable,
    run_case,
    seeds,
)
from studies.study import Options, Study, run_all

FIVE = ("bf", "cpp", "fdws", "fwp", "hr")
"""GBF, which is BF, and the dynamic policies that the tests find stable."""


def run_cases(cases: Sequence[Case], options: Options, label: str) -> dict[Case, Seen]:
    return dict(zip(cases, run_all(run_case, cases, options, label), strict=True))


def estimates(report: Report, options: Options) -> None:
    count = 900 if options.quick else 3000
    full = [Case(p, 0.98, count, s) for p in FIVE for s in seeds(options)]
    wrong = [one._replace(error="random II", f_e=2.0) for one in full]
    half = [one._replace(load=0.5) for one in full]
    found = run_cases([*full, *wrong, *half], options, "wf-estimates")

    def mean(p: str, cases: Sequence[Case]) -> float:
        own = [found[one].slowdown for one in cases if one.policy == p]
        return sum(own) / len(own)

    for p in FIVE:
        own = [found[one] for one in full if one.policy == p]
        report.figure(f"{p} at .98: slowdown", None, mean(p, full))
        report.figure(f"{p} at .98, random II: slowdown", None, mean(p, wrong))
        present = " ".join(f"{one.present:.0f}" for one in own)
        stable = most_stable(own)
        report.bar(f"{p} is stable at .98", "2 of 3", str(stable), stable)
        ok = all(30 <= one.present <= 80 for one in own)
        report.bar(f"{p} at .98: workflows present on average", "30..80", present, ok)
    for p in ("bf", "cpp"):
        ratio = mean(p, full) / mean("fwp", full)
        report.bar(f"slowdown of {p} / of fwp at .98", 1.15, ratio, ratio >= 1.15)
    for name, cases in (("no error", full), ("random II", wrong)):
        for s in seeds(options):
            by = {one.policy: found[one].deviation for one in cases if one.seed == s}
            ratio = by["fwp"] / min(by["fdws"], by["hr"])
            report.bar(f"{name}, seed {s}: s.d. of fwp / least of fdws, hr", 1.05, ratio,
                       ratio <= 1.05)  # fmt: skip
    low = [mean(p, half) for p in FIVE]
    spread = max(low) / min(low) - 1
    report.bar("at .5 all are alike", 0.03, spread, spread <= 0.03)


def heterogeneous(report: Report, options: Options) -> None:
    count = 900 if options.quick else 3000
    plain = [Case(p, 0.97, count, s, speeds=TWO_SPEEDS) for p in FIVE for s in seeds(options)]
    wrong = [one._replace(error=e, f_e=2.0) for one in plain for e in ("random I", "random II")]
    found = run_cases([*plain, *wrong], options, "wf-heterogeneous")
    less = []
    for s in seeds(options):
        by = {one.policy: found[one].slowdown for one in plain if one.seed == s}
        less.append(by["cpp"] < by["bf"])
        report.figure(f"seed {s}: slowdown of cpp / of gbf", None, by["cpp"] / by["bf"])
    needed = (len(less) + 1) // 2
    report.bar("cpp below gbf", needed, sum(less), sum(less) >= needed)
    for p, e in product(FIVE, ("exact", "random I", "random II")):
        stable = most_stable([v for one, v in found.items() if (one.policy, one.error) == (p, e)])
        report.bar(f"{p} is stable at .97 on two speeds, {e}", "2 of 3", str(stable), stable)


def batch(report: Report, options: Options) -> None:
    count, few = 1000, 300  # fewer, and the critical paths rule
    every = (*FIVE, "owm")
    cases = [Case(p, 1.0, count, options.seed, at_once=True) for p in every]
    plan = Case("wheft", 1.0, few, options.seed, at_once=True)
    misled = plan._replace(error="random I", f_e=2.0)
    found = run_cases([*cases, plan, misled], options, "wf-batch")
    over = {one.policy: found[one].lasted / found[one].work - 1 for one in cases}
    for p in every:
        report.figure(f"{p}: {count} workflows at once", None, found[cases[every.index(p)]].lasted
                      / 3600, "h")  # fmt: skip
    for p in FIVE:
        report.bar(f"{p}: above the bound by work", ".08...17", over[p], 0.08 <= over[p] <= 0.17)
    report.bar("owm: above the bound by work", 0.03, over["owm"], over["owm"] <= 0.03)
    long, short = max(over["bf"], over["cpp"]), min(over[p] for p in ("fdws", "hr", "fwp"))
    report.bar("gbf and cpp are shorter than fdws, hr, fwp", short, long, long < short)
    ratio = found[plan].lasted / found[plan].work
    report.bar(f"wheft: {few} at once, of the bound by work", 1.02, ratio, ratio <= 1.02)
    worse = found[misled].lasted / found[plan].lasted
    report.bar("wheft with random I, of without error", 1.3, worse, worse >= 1.3)
    seconds = planning_seconds(few, options.seed)
    report.bar(f"planning of {few} workflows, s", 5.0, seconds, seconds < 5)


def planning_seconds(count: int, seed: int) -> float:
    """The time of the one plan that is made when all are there."""
    policy = WholePlan()
    pool = Pool(SAME_SPEED, policy)
    for number, one in enumerate(coming(Case("wheft", 1.0, count, seed, at_once=True))):
        pool.present.append(Present(number, Workflow(one.near, one.estimates), 0.0))
    began = time.process_time()
    policy.arrived(pool)
    return time.process_time() - began


def whole_plans(report: Report, options: Options) -> None:
    count = 600  # fewer, and nothing grows enough to be seen
    wanted = {
        (0.90, "exact", 1.0): True,
        (0.97, "random I", 2.0): False,
        (0.90, "random II", 2.0): False,
        **{(0.40, e, f): True for e in ("random I", "random II") for f in (0.1, 2.0, 10.0)},
    }
    cases = [
        Case("wheft", load, count, s, error=e, f_e=f)
        for load, e, f in wanted
        for s in seeds(options)
    ]
    found = run_cases(cases, options, "wf-wheft")
    for (load, e, f), stable in wanted.items():
        runs = [v for one, v in found.items() if (one.load, one.error, one.f_e) == (load, e, f)]
        ours = most_stable(runs)
        said = "stable" if stable else "unstable"
        report.bar(f"wheft at {load:.2f}, {e}, f_e {f:g} is {said}", str(stable), str(ours),
                   ours is stable)  # fmt: skip


STUDIES = (
    Study("wf-estimates", "placement with estimates: slowdowns and their spread", estimates),
    Study("wf-heterogeneous", "placement with estimates on places of two speeds", heterogeneous),
    Study("wf-batch", "placement: many workflows at once against the bound by work", batch),
    Study("wf-wheft", "placement by whole plans: which errors make it unstable", whole_plans),
)
