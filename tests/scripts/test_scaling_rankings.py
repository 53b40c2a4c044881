"""Table 4.7 of the thesis comes out of its other tables, to the printed digit."""

from pathlib import Path

from figures import Report
from studies import scaling_rankings
from studies.study import Options


def test_all_published_rankings_come_out_to_the_digit(tmp_path: Path) -> None:
    report = Report("scaling-table4.7")
    scaling_rankings.run(report, Options(True, 1, tmp_path, 1))
    (bar,) = report.bars
    assert bar["value"] == 75
    assert bar["ok"]
