"""One bag over five real back ends at once, with a machine of each killed: it still ends in budget.

Nothing is left running anywhere afterwards: each provider is asked itself.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from helpers.beds import Bed, kill_marked
from helpers.eavesdropper import Eavesdropper
from helpers.user import BATS, User
from helpers.waiting import until

pytestmark = [pytest.mark.backend(name) for name in ("ssh", "slurm", "sge", "ec2")]
TASKS, BUDGET = 500, 2.0
OFFERINGS = ("local", "ssh", "slurm", "sge", "ec2")
CLOUDS = """
currency = "$"
[[offering]]
name = "local"
backend = "local"
price = "0.60"
atu = "minute"
max = 1

[[offering]]
name = "ssh"
price = "1.20"
atu = "minute"
max = 2
[offering.ssh]
hosts = ["h[1-3]"]
config = "{config}"

[[offering]]
name = "slurm"
price = "1.80"
atu = "minute"
max = 2
[offering.slurm]

[[offering]]
name = "sge"
price = "1.50"
atu = "minute"
max = 2
[offering.sge]

[[offering]]
name = "ec2"
price = "2.40"
atu = "minute"
max = 2
[offering.ec2]
image = "{image}"
instance_type = "t3.large"
region = "us-east-1"
worker = ["{python}", "-m", "bats.worker"]
"""


@pytest.fixture
def beds(
    slurm_bed: Bed, sge_bed: Bed, ssh_bed: Bed, ec2_bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Bed]:
    found = {"slurm": slurm_bed, "sge": sge_bed, "ssh": ssh_bed, "ec2": ec2_bed}
    for bed in found.values():
        bed.enter(monkeypatch)
    return found


@pytest.fixture
def everywhere(beds: dict[str, Bed], user: User) -> User:
    for bed in beds.values():
        user.environment |= bed.environment
    clouds = CLOUDS.format(
        config=beds["ssh"].environment["BATS_SSH_CONFIG"],
        image=beds["ec2"].environment["BATS_EC2_AMI"],
        python=BATS.with_name("python"),
    )
    user.write("clouds.toml", clouds)
    return user


def killers(beds: dict[str, Bed]) -> dict[str, Callable[[str], object]]:
    """Ways to break a machine of each, by its address."""

    def local(address: str) -> None:
        os.kill(int(address.split()[1]), signal.SIGKILL)

    def ssh(address: str) -> None:
        host, pid = address.split(", pid ")
        config = beds["ssh"].environment["BATS_SSH_CONFIG"]
        beds["ssh"].run("ssh", "-F", config, host, "kill", "-KILL", pid)

    def slurm(address: str) -> None:
        shown = beds["slurm"].run("scontrol", "show", "job", address.split()[1])
        number = shown.split("JobId=")[1].split()[0]
        kill_marked(f"SLURM_JOB_ID={number}", beds["slurm"].mark("SLURM_CONF"))

    def ec2(address: str) -> None:
        (beds["ec2"].state / "i" / address.partition(" ")[0] / "crash").touch()

    def sge(address: str) -> None:
        beds["sge"].run("qdel", address.split()[1])

    return {"local": local, "ssh": ssh, "slurm": slurm, "sge": sge, "ec2": ec2}


def left_over(beds: dict[str, Bed], state: Path) -> list[str]:
    """All that still runs, in the providers' own words."""
    jobs = beds["slurm"].run("squeue", "-h"), beds["sge"].run("qstat", "-u", "*")
    alive = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping"]}]
    instances = boto3.client("ec2").describe_instances(Filters=alive)["Reservations"]
    config = beds["ssh"].environment["BATS_SSH_CONFIG"]
    hosts = [
        beds["ssh"].run("ssh", "-F", config, host, "pgrep -fa [m]achines/; true")
        for host in beds["ssh"].environment["BATS_SSH_HOSTS"].split()
    ]
    here = subprocess.run(
        ["pgrep", "-fa", str(state)], check=False, capture_output=True, text=True
    ).stdout
    return [str(found) for found in (*jobs, *instances, *hosts, here) if found]


def expect_no_secret_was_told(ear: Eavesdropper) -> None:
    """Nowhere, though many places were looked at, for many secrets."""
    assert ear.overheard() == []
    told = {file.name for file in ear.told()}
    assert {"run.log", "store.db", "log", "0.log", "run.json"} <= told
    assert any(b"#SBATCH" in script for script in ear.scripts)
    assert any(b"#$ -" in script for script in ear.scripts)
    assert any(b"bats.worker" in line for line in ear.command_lines)
    assert len(ear.secrets) > 3 + 2  # of master, client and workers; of instances and of jobs


def test_five_hundred_tasks_outlive_a_death_at_each_of_five_back_ends(
    everywhere: User, beds: dict[str, Bed]
) -> None:
    user, kill = everywhere, killers(beds)
    words = ("--array", f"1-{TASKS}", "--clouds", "clouds.toml", "--budget", str(BUDGET))
    command = "sleep 0.5; echo $((BATS_INDEX * BATS_INDEX))"
    with (
        Eavesdropper(user.state, [bed.state for bed in beds.values()]) as ear,
        user.started("run", *words, "--pick", "fastest", "--yes", "--", command) as run,
    ):
        user.begun(run)

        def machines() -> list[dict[str, Any]]:
            answer = user.bats("machines", "--json", exit_code=None)
            return user.facts("machines")["machines"] if answer.returncode == 0 else []

        while kill and run.poll() is None:
            for one in machines():
                if one["state"] == "up" and one["done"] and one["offering"] in kill:
                    kill.pop(one["offering"])(one["address"])
        said, complaint = run.communicate(timeout=240)
    assert kill == {}, "each back end had a machine to lose"
    assert run.returncode == 0, complaint
    assert f"{TASKS} of {TASKS} tasks done" in said
    expect_no_secret_was_told(ear)
    cost = float(said.split("cost")[1].split("$")[1].split()[0])
    assert cost <= BUDGET
    try:
        until(lambda: not left_over(beds, user.state), 60)
    except AssertionError:
        assert left_over(beds, user.state) == []
