"""The study of promises beside others, of one world."""

from pathlib import Path

from figures import Report
from studies import beside
from studies.study import Options


def test_the_study_tells_of_each_bag_beside_others_and_alone(tmp_path: Path) -> None:
    report = Report("beside")
    beside.study(report, Options(quick=True, workers=1, out=tmp_path, seed=10, bags=1))
    bars = [one for one in report.bars if "beside others" in one["bar"]]
    assert len(bars) == 2 * len(beside.ATUS)
    assert all(0 <= one["value"] <= 1 for one in bars)
