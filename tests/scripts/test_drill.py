"""The fault drill finds nothing wrong with BaTS, and would if there were."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(SCRIPTS)
    import drill.checks

    return drill.checks


def account(checks: Any, *notes: tuple[Any, ...], **known: Any) -> Any:
    bed = SimpleNamespace(known_done={}, harmed=lambda *_: False, **known)
    return checks.Account(bed, {}, notes=[checks.Note(*note) for note in notes])


def drilled(*options: str) -> dict[str, Any]:
    argv = [sys.executable, str(SCRIPTS / "drill.py"), "--quick", "--seed", "1", "--json", *options]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout, ended.stderr
    facts: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    wrong = {one["check"]: one["violations"] for one in facts["checks"] if one["violations"]}
    assert not wrong, wrong
    assert ended.returncode == 0
    assert [bar["ok"] for bar in facts["bars"]] == [True] * len(facts["checks"])
    return facts


def test_half_a_minute_of_faults_harms_nothing():
    facts = drilled()
    assert sum(facts["faults"].values()) >= 3
    assert facts["tasks"] >= 20


@pytest.mark.parametrize("absence", ["short", "long"])
def test_a_master_that_is_away_loses_no_task_and_no_money_of_machines_billed_by_the_second(
    absence: str,
):
    facts = drilled("--absence", absence)
    assert facts["faults"] == {"master killed": 1}
    assert facts["tasks"] == 12
    assert min(one["looked_at"] for one in facts["checks"] if "without" in one["check"]) > 0


def test_an_attempt_that_runs_twice_is_noticed(checks: Any):
    once = ("start", 1, 5, 1, 1000001, 10.0)
    _, wrong = checks.CHECKS[checks.NOT_AGAIN](account(checks, once, once))
    assert len(wrong) == 1


def test_a_task_that_begins_long_after_its_result_was_stored_is_noticed(checks: Any):
    late = account(checks, ("start", 1, 5, 2, 1000001, 20.0))
    late.bed.known_done[1, 5] = 10.0
    assert len(checks.CHECKS[checks.NOT_AGAIN](late)[1]) == 1


@pytest.mark.parametrize(("second_began", "lost"), [(9.0, 0), (11.0, 1)])
def test_work_that_was_done_again_is_lost_and_that_of_a_copy_is_not(
    checks: Any, second_began: float, lost: int
):
    told = account(
        checks,
        ("start", 1, 5, 1, 1000001, 5.0),
        ("end", 1, 5, 1, 1000001, 10.0),
        ("start", 1, 5, 2, 1000002, second_began),
        ("end", 1, 5, 2, 1000002, 20.0),
    )
    told.in_order |= {1000001, 1000002}
    told.rows[1] = [SimpleNamespace(task=5, attempt=2, machine=1000002, outcome=0)]
    told.duplicates[1] = 0
    looked_at, wrong = checks.CHECKS["results lost: none"](told)
    assert (looked_at, len(wrong)) == (2, lost)


def test_prices_are_not_taken_from_the_ledger(checks: Any):
    from drill.bed import several

    price = {one["name"]: one["price"] for one in several()}["slow"]
    prices = account(checks, offerings=several()).prices
    assert prices("slow", 11.0) == {price}
    assert prices("slow", 12.1) == {price, 2 * price}, "seen from outside, not exactly"
    assert prices("slow", 30.0) == {3 * price}
