"""Runs a workload as a worker would: its own process, its arguments, its environment."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKLOADS = Path(__file__).parents[2] / "scripts" / "workloads"


def run(*words: object, speed: str | None = None) -> subprocess.CompletedProcess[str]:
    program, *arguments = map(str, words)
    environment = {key: value for key, value in os.environ.items() if key != "BATS_SPEED"}
    if speed is not None:
        environment["BATS_SPEED"] = speed
    return subprocess.run(
        [sys.executable, str(WORKLOADS / f"{program}.py"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def result(*words: object, speed: str | None = None) -> dict[str, Any]:
    done = run(*words, speed=speed)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
