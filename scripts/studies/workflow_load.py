"""Chapter 2 of the thesis: the highest load that each policy bears, without estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from figures import Report

from bats.master.simulate.workflows.pool_run import Arriving
from bats.master.simulate.workflows.stability import highest
from studies.pools import Case, Verdict, coming, most_stable, run_case, seeds, verdict
from studies.study import Options, Study, run_all

LOADS = tuple(k / 20 for k in range(1, 20))
"""Above .95 the tests do not reject even a load of 1, with 3,000 workflows."""

STEP = 0.05

PUBLISHED: Mapping[str, tuple[float, float, float, float]] = {
    "sr": (0.55, 0.70, 0.20, 0.35),
    "slop:0.9": (0.55, 0.70, 0.20, 0.35),
    "slop:0.8": (0.55, 0.70, 0.25, 0.40),
    "slop:0.2": (0.75, 0.85, 0.50, 0.65),
    "fes:10": (0.55, 0.70, 0.20, 0.35),
    "fes:2": (0.55, 0.70, 0.20, 0.35),
    "fes:1": (0.55, 0.95, 0.80, 0.80),
    "bf": (0.95, 0.95, 0.95, 0.95),
}
"""Table 2.1, by workload."""

STAYS: Mapping[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "sr": ((636, 628, 658), (1162, 484, 263)),
    "slop:0.9": ((584, 578, 645), (1188, 492, 249)),
    "slop:0.8": ((3195, 3121, 3329), (1174, 546, 295)),
    "slop:0.2": ((879, 892, 938), (1291, 597, 297)),
    "fes:10": ((637, 632, 652), (1160, 480, 264)),
    "fes:2": ((526, 525, 547), (1189, 503, 278)),
    "fes:1": ((596, 631, 581), (1191, 530, 273)),
    "bf": ((703, 707, 694), (1199, 546, 271)),
}
"""Table 2.2: waits and makespans of small, medium and large workflows of the mixture, seconds."""

WORKLOADS = ("Montage", "LIGO", "SIPHT", "mixture")


class Question(NamedTuple):
    policy: str
    workload: str
    workflows: int
    seeds: tuple[int, ...]


@lru_cache(maxsize=3)
def in_units(workload: str, workflows: int, seed: int) -> list[Arriving]:
    """Workflows as they come at a load of 1: at others the times between them are longer."""
    return coming(Case("", 1.0, workflows, seed, workload))


def at_load(load: float, arriving: Sequence[Arriving]) -> list[Arriving]:
    return [replace(one, at=one.at / load) for one in arriving]


def find(question: Question) -> float:
    policy, workload, workflows, own_seeds = question

    def stable(load: float) -> bool:
        runs: list[Verdict] = []
        for seed in own_seeds:
            arriving = at_load(load, in_units(workload, workflows, seed))
            runs.append(verdict(arriving, policy, seed))
            if len(runs) == 2 and runs[0] == runs[1]:
                break  # the third cannot change what most of them say
        return most_stable(runs)

    return highest(stable, LOADS)


def table(report: Report, options: Options) -> None:
    workflows = 600 if options.quick else 3000
    own_seeds = tuple(seeds(options))
    asked = [Question(p, w, workflows, own_seeds) for w in WORKLOADS for p in PUBLISHED]
    found = {
        (one.policy, one.workload): load
        for one, load in zip(asked, run_all(find, asked, options, "wf-table2.1"), strict=True)
    }
    for policy, published in PUBLISHED.items():
        for workload, load in zip(WORKLOADS, published, strict=True):
            report.figure(f"{policy}, {workload}", load, found[policy, workload])
    bars(report, found)


def bars(report: Report, found: Mapping[tuple[str, str], float]) -> None:
    def bar(text: str, limit: str, values: list[float], ok: bool) -> None:
        report.bar(text, limit, " ".join(f"{one:.2f}" for one in values), ok)

    best = [found["bf", w] for w in WORKLOADS]
    bar("BF stable at .90 on all, at .95 on three", ".90", best,
        min(best) > 0.899 and sum(one > 0.949 for one in best) >= 3)  # fmt: skip
    for w in WORKLOADS:
        rising = [found[p, w] for p in ("sr", "slop:0.8", "slop:0.2", "bf")]
        ok = all(a <= b + STEP + 1e-9 for a, b in pairwise(rising))
        bar(f"{w}: SR ≤ SLoP .8 ≤ SLoP .2 ≤ BF, each + .05", "rising", rising, ok)
        near = [found[p, w] for p in ("sr", "fes:2", "fes:10")]
        within = max(near) - min(near) <= STEP + 1e-9
        bar(f"{w}: FES 2 and FES 10 within one step of SR", ".05", near, within)
    for w, least, most in (("LIGO", 0.05, 1), ("SIPHT", 0.30, 1), ("mixture", 0.15, 1),
                           ("Montage", -1, 0.10)):  # fmt: skip
        more = found["fes:1", w] - found["sr", w]
        limit = f"≤ {most:.2f}" if least < 0 else f"≥ {least:.2f}"
        bar(f"{w}: FES 1 bears so much more than SR", limit, [more],
            least - 1e-9 <= more <= most + 1e-9)  # fmt: skip
    lowest = [found["sr", w] for w in WORKLOADS]
    bar("SIPHT is the lowest under SR", "lowest", lowest, found["sr", "SIPHT"] == min(lowest))


def stays(report: Report, options: Options) -> None:
    """Waits near saturation differ by factors from seed to seed: they have no bar."""
    workflows = 600 if options.quick else 3000
    cases = [Case(p, PUBLISHED[p][3], workflows, options.seed) for p in STAYS]
    runs = dict(zip(STAYS, run_all(run_case, cases, options, "wf-table2.2"), strict=True))
    for policy, (waits, makespans) in STAYS.items():
        for k, size in enumerate("SML"):
            wait, makespan = runs[policy].stays[size]
            at = f"{policy} at {PUBLISHED[policy][3]:.2f}, {size}"
            report.figure(f"wait of {at}", waits[k], wait, "s")
            report.figure(f"makespan of {at}", makespans[k], makespan, "s")
    for policy in STAYS:
        spans = [runs[policy].stays[size][1] for size in "SML"]
        falling = spans[0] > spans[1] > spans[2]
        report.bar(f"{policy}: larger workflows have shorter makespans", "falling",
                   " ".join(f"{one:.0f}" for one in spans), falling)  # fmt: skip


STUDIES = (
    Study("wf-table2.1", "placement without estimates: the highest load borne", table),
    Study("wf-table2.2", "placement without estimates: waits and makespans by size", stays),
)
