"""From `bats run` to the end of the first task, on this computer, all started from nothing."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Report

from benches.world import BATS


def first_task() -> float:
    with tempfile.TemporaryDirectory(prefix="bats bench.") as folder:
        mark = Path(folder, "mark")
        began = time.time()
        subprocess.run(
            [BATS, "--state", Path(folder, "state"), "run", "-q", "-p", "i=1", "--",
             "sh", "-c", f": {{i}} > '{mark}'"],
            cwd=folder, env={**os.environ, "HOME": folder}, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return mark.stat().st_mtime - began


def run(report: Report, *, quick: bool) -> None:
    seconds = [first_task() for _ in range(3 if quick else 7)]
    report.figure("slowest", None, max(seconds), "s")
    middle = statistics.median(seconds)
    report.bar("from `bats run` to its first task's end, s", 1.0, middle, middle <= 1.0)
