"""The scaler of this house against the best published, also on workflows it was not designed on.

Workload 3 is of CyberShake and Epigenomics. Beside `rehearse` stand what it comes to where a second
of a task weighs as much as several of a machine, and what it would come to if it knew which
workflows come: more than that no scaler can gain by foretelling arrivals.
"""

from statistics import fmean
from typing import Final

from figures import Report

from bats.master.brain.elasticity.rankings import scores
from studies.elastic import FORESEEING, HOUR, Case
from studies.scaling_tables import Row, row, run_rows
from studies.study import Options, Study

OWN: Final = "rehearse"
RIVALS: Final = ("react", "plan", "token")
"""The best of Table 4.7 by each of its rankings."""

HASTY: Final = {"rehearse, waiting 3": 3.0, "rehearse, waiting 20": 20.0}
TERMS: Final = {
    "at once": ("idle", HOUR),
    "at once, ATU of a minute": ("idle", 60.0),
    "at the end of paid hours": ("paid", HOUR),
}
WORKLOADS: Final = (1, 2, 3)
BETTER: Final = 1.1


def study(report: Report, options: Options) -> None:
    every = ("none", OWN, *RIVALS)
    names = [f"{s};{w};{t}" for s in every for w in WORKLOADS for t in TERMS]
    names += [f"{s};{w};at once" for s in (FORESEEING, *HASTY) for w in WORKLOADS]

    def case(name: str, seed: int) -> Case:
        which, workload, terms = name.split(";")
        release, atu = TERMS[terms]
        waiting = HASTY.get(which)
        own = OWN if waiting else which
        return Case(own, seed, int(workload), release=release, atu=atu, waiting=waiting)

    runs = run_rows(names, options, "scaling-own", case)
    for workload in WORKLOADS:
        for terms in TERMS:
            rows = {s: row(runs[f"{s};{workload};{terms}"], runs[f"none;{workload};{terms}"])
                    for s in (*every, FORESEEING, *HASTY)
                    if f"{s};{workload};{terms}" in runs}  # fmt: skip
            compare(report, f"workload {workload}, released {terms}", rows)


def compare(report: Report, where: str, rows: dict[str, Row]) -> None:
    overall = {name: scores(own, rows["none"]).overall for name, own in rows.items()}
    best = max(overall[name] for name in RIVALS)
    for name, own in rows.items():
        report.figure(f"{where}: {name}, overall score", None, overall[name])
        report.figure(f"{where}: {name}, over the best published", None, overall[name] / best)
        report.figure(f"{where}: {name}, S_e", None, own["S_e"])
        report.figure(f"{where}: {name}, C", None, own["C"], "h")
    if where.endswith("at once"):
        report.bar(f"{where}: overall score over the best other", f"≥ {BETTER}",
                   overall[OWN] / best, overall[OWN] >= BETTER * best)  # fmt: skip
    for name in RIVALS:
        own, other = rows[OWN], rows[name]
        cheaper = own["C"] / other["C"]
        slower = own["S_e"] / other["S_e"]
        report.bar(f"{where}: C and S_e over those of {name}", "C below 1, S_e ≤ 1",
                   f"{cheaper:.3f}, {slower:.3f}", cheaper < 1 and slower <= 1)  # fmt: skip
    report.figure(f"{where}: mean C of others", None, fmean(rows[name]["C"] for name in RIVALS))


STUDIES = (Study("scaling-own", "the scaler of this house against the published", study),)
