"""The figures of the workloads' page are printed by a script."""

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "scripts" / "bench.py"


def test_what_tasks_take_and_what_they_learn_can_be_measured() -> None:
    ended = subprocess.run(
        [sys.executable, str(BENCH), "workloads", "--quick", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    told = json.loads(ended.stdout.splitlines()[-1])
    assert [bar for bar in told["bars"] if not bar["ok"]] == [], told
    found = {one["what"]: one["ours"] for one in told["figures"]}
    assert 0 < found["kohonen.py, each iteration"] < found["sarsa.py, each epoch"]
    assert found["waiting after 1,000 epochs, to the nearest call's"] < 1
