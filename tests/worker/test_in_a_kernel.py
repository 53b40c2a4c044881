"""Limits and control groups are tested on a kernel that has all of them."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.beds import REPOSITORY, Bed

pytestmark = pytest.mark.backend("kernel")

THERE = ("test_enforced_limits.py", "test_control_groups.py")


def test_tests_of_limits_and_control_groups_pass_where_the_kernel_has_all_of_them(
    kernel_bed: Bed,
) -> None:
    here = Path(__file__).parent.relative_to(REPOSITORY)
    tests = [str(here / name) for name in THERE]
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(
        [kernel_bed.environment["BATS_KERNEL"], *run, "--basetemp=/dev/shm/tests", *tests],
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
