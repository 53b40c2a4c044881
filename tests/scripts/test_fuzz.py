"""What reads foreign input takes it or refuses it, in bounds: a short look at all of it."""

import json
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parents[2] / "scripts" / "fuzz.py"


def test_a_few_seconds_of_fuzzing_find_nothing():
    argv = [sys.executable, str(FUZZ), "--minutes", "0.05", "--seed", "1", "--json"]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout, ended.stderr
    facts = json.loads(ended.stdout.splitlines()[-1])
    assert not [one for one in facts["targets"] if one["failures"]]
    assert ended.returncode == 0
    assert all(one["taken"] and one["refused"] for one in facts["targets"])
