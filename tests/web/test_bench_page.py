"""The script whose figures the pages quote runs, and tells what it measured."""

import json
import subprocess
import sys

import pytest
from helpers.beds import REPOSITORY, Bed

pytestmark = [pytest.mark.backend("chromium"), pytest.mark.checkout]


def test_the_page_is_measured_by_a_script(chromium_bed: Bed) -> None:  # so that it can be had
    script = REPOSITORY / "scripts" / "bench_page.py"
    ended = subprocess.run(
        [sys.executable, script, "--quick", "--json"],
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    told = json.loads(ended.stdout.splitlines()[-1])
    bars = {bar["bar"]: bar for bar in told["bars"]}
    assert bars["transfers"]["ok"]
    assert bars["keeps"]["ok"]
    assert {f["what"].partition(":")[0] for f in told["figures"]} == {
        "a bag that has ended", "a running bag of 100,000 tasks",
    }  # fmt: skip
