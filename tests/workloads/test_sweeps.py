"""The sweep files hold the published bags, and their commands run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.workload import WORKLOADS

from bats.master.sweep.sweep_reading import load


@pytest.mark.parametrize(("name", "tasks"), [("kohonen", 5000), ("sarsa", 9000), ("sleeper", 1000)])
def test_a_bag_has_the_published_number_of_tasks(name: str, tasks: int):
    assert load(WORKLOADS / f"{name}.toml").count == tasks


@pytest.mark.parametrize(
    ("name", "large", "small"),
    [
        ("kohonen", "--scale 0.01", "--scale 0.0001"),
        ("sarsa", "--scale 0.01", "--scale 0.0001"),
        ("sleeper", "--minute-seconds 0.5", "--dry-run"),
    ],
)
def test_the_last_task_runs_beside_its_sweep_file(name: str, large: str, small: str):
    sweep = load(WORKLOADS / f"{name}.toml")
    command = sweep.preview(sweep.count - 1)
    assert large in command
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command.replace(large, small),
        shell=True,
        cwd=sweep.cwd,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["program"] == name
