"""The measure of a hostile worker, in short."""

import pytest
from benches import hostile
from figures import Report

pytestmark = pytest.mark.checkout


def test_a_hostile_worker_neither_fills_the_master_nor_makes_anything_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How fast the others go meanwhile is for a quiet computer to say."""
    monkeypatch.setattr(hostile, "BEFORE_SECONDS", 1.0)
    monkeypatch.setattr(hostile, "QUICK_SECONDS", 3.0)
    report = Report("hostile")
    hostile.run(report, quick=True)
    held = {bar["bar"]: bar["ok"] for bar in report.bars}
    assert held["master's memory, at most, MB"]
    assert held["results that are false"]
