"""Seconds that test beds take to come up and to go down, once what they need is installed."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from figures import Report

FOLDER: Final = Path(__file__).resolve().parents[1] / "testbeds"
BEDS: Final = ("slurm", "sge", "sshd", "ec2", "chromium", "htcondor")
QUICK: Final = ("chromium",)
PATIENCE_SECONDS: Final = 300.0


def run(report: Report, *, quick: bool) -> None:
    for name in QUICK if quick else BEDS:
        try:
            raised(name)  # it installs what is absent
            up, down = raised(name)
        except subprocess.CalledProcessError as error:
            print(f"{name}: {error.stderr.strip()[-300:]}", file=sys.stderr)
            continue
        report.figure(f"{name}, up", None, up, "s")
        report.figure(f"{name}, down", None, down, "s")


def raised(name: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="bed-") as folder:
        began = time.monotonic()
        try:
            _do(name, "up", folder)
            up = time.monotonic()
        finally:
            _do(name, "down", folder)
        return up - began, time.monotonic() - up


def _do(name: str, verb: str, folder: str) -> None:
    environment = {**os.environ, "OWNER": str(os.getpid())}
    subprocess.run(
        [FOLDER / name, verb, folder], env=environment, check=True, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
