"""The study of lending, of one world for each ATU."""

from pathlib import Path

from figures import Report
from studies import lending
from studies.study import Options


def test_what_is_left_of_paid_hours_makes_all_bags_together_cheaper() -> None:
    pair = lending.pair((3600.0, 1, 0))
    assert all(one.complete for one in (*pair.without, *pair.lending))
    assert sum(one.cost for one in pair.lending) < sum(one.cost for one in pair.without)


def test_the_study_finds_no_budget_passed_and_no_journal_that_differs(tmp_path: Path) -> None:
    report = Report("lending")
    lending.study(report, Options(quick=True, workers=1, out=tmp_path, seed=1, bags=1))
    wrong = {one["bar"]: one["value"] for one in report.bars if "journals" in one["bar"]}
    assert wrong == {
        f"ATU {atu:g} s, 4 worlds: budgets passed, journals that differ": 0 for atu in lending.ATUS
    }


def test_a_bag_is_clearly_dearer_only_if_that_is_more_than_its_orders_differ() -> None:
    steady = [(100.0, 103.0 + k / 10) for k in range(8)]
    assert lending.clearly(steady) == 1
    assert lending.clearly([(b, a) for a, b in steady]) == -1
    assert lending.clearly([(100.0, 140.0 if k % 2 else 75.0) for k in range(8)]) == 0
    assert lending.clearly([(100.0, 100.0)] * 8) == 0
