"""The whole system, master to tasks, holds what it says through stories of faults by chance."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FATE = Path(__file__).parents[2] / "scripts" / "fate.py"


def told(*options: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(FATE), *options], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_a_hundred_and_forty_stories_with_loans_are_without_a_violation() -> None:
    code, out = told("--seeds", "140", "--json")
    facts: dict[str, Any] = json.loads(out.splitlines()[-1])
    assert (code, facts["violated"]) == (0, []), out
    assert facts["loans"]["borrowed"] > 10


def test_a_story_goes_the_same_way_each_time() -> None:
    assert told("--replay", "35") == told("--replay", "35")


@pytest.mark.parametrize("fix", ["collecting", "ticket", "synced"])
def test_without_a_fix_a_violation_is_found(fix: str) -> None:
    code, out = told("--undone", fix)
    assert (code, "found after" in out) == (0, True), out
