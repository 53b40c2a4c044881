"""From nothing to a task's result on a real Slurm: the commands of the page on clouds, unedited."""

import re
import subprocess
from pathlib import Path

import pytest
from helpers.beds import Bed
from helpers.user import BATS, User
from helpers.waiting import until

PAGE = Path(__file__).parents[2] / "master" / "clouds" / "README.md"
pytestmark = [pytest.mark.backend("slurm"), pytest.mark.checkout]


@pytest.fixture
def somebody(user: User, slurm_bed: Bed) -> User:
    user.environment |= slurm_bed.environment
    user.environment["PATH"] = f"{BATS.parent}:{user.environment['PATH']}"
    return user


def commands() -> list[str]:
    section = PAGE.read_text().split("## The first task on Slurm\n")[1]
    (block,) = re.findall(r"((?:^    .*\n)+)", section.split("\n## ")[0], re.MULTILINE)
    return [line.strip() for line in block.splitlines()]


def test_a_dry_run_prints_the_script_with_the_users_own_lines(user: User) -> None:
    """No Slurm is needed for that, and nothing is started."""
    lines = '[offering.slurm]\npartition = "long"\ndirectives = ["#SBATCH --comment=mine"]\n'
    user.write("bats-clouds.toml", f'[[offering]]\nname = "hpc"\nprice = 1\nmax = 4\n{lines}')
    script = user.bats("clouds", "show", "--script", "hpc").stdout
    assert script.startswith("#!/bin/bash\n#SBATCH")
    assert "#SBATCH --partition=long" in script
    assert "#SBATCH --comment=mine" in script
    assert "secret" not in script
    assert "no offering x" in user.bats("clouds", "show", "--script", "x", exit_code=2).stderr
    assert not user.state.exists()


def test_the_commands_of_the_page_bring_the_first_results_of_slurm(
    somebody: User, slurm_bed: Bed
) -> None:
    asked = commands()
    assert len(asked) <= 5
    said = ""
    for command in asked:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=somebody.folder,
            env=somebody.environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said += done.stdout
    assert "works" in said, "each offering was tried for real"
    assert "4 of 4 tasks done" in said
    assert " 1 squared is 1" in somebody.bats("logs", "last", "0").stdout
    machines = somebody.facts("machines")["machines"]
    assert {one["backend"] for one in machines} == {"slurm"}
    assert all(one["address"].startswith("job ") for one in machines)
    until(lambda: "slurm_debug" not in slurm_bed.run("squeue", "-h", "-r", "-o", "%j"), 60)
