"""The studies of scalers tell published figures and ours side by side."""

from pathlib import Path

from figures import Report
from studies import scaling_tables
from studies.scaling_budgets import Case, run_case, slowdown, within
from studies.study import Options


def test_scalers_come_near_the_table_though_of_one_set_of_workflows(tmp_path: Path) -> None:
    report = Report("scaling-table4.5")
    scaling_tables.table5(report, Options(True, 1, tmp_path, 1, bags=1))
    told = {one["what"]: (one["published"], one["ours"]) for one in report.figures}
    assert told["No AS, S_e"] == (1, 1)
    for name in ("React", "Hist", "Plan"):
        published, ours = told[f"{name}, S_e"]
        assert 1 < ours < 1.5 * published
        assert told[f"{name}, V"][1] < told["No AS, V"][1]
    assert told["Plan, t_O"][1] < told["React, t_O"][1] < told["Hist, t_O"][1]


def test_feedback_is_better_than_plans_for_the_same_budget() -> None:
    runs = {
        name: [run_case(Case(name, 1, (60, 100), workflows=60))] for name in ("plf", "scf", "pfa")
    }
    assert slowdown(runs["pfa"]) < slowdown(runs["scf"]) < slowdown(runs["plf"])
    for found in runs.values():
        assert within(Case("", 1, (60, 100)), found)
        assert not within(Case("", 1, (60, 5)), found)
