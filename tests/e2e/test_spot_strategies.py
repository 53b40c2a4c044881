"""A bag with a strategy goes on when a machine is taken away, and ends on a reliable one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.beds import Bed
from helpers.user import BATS, User
from helpers.waiting import until

CLOUDS = """
[[offering]]
name = "spot"
price = "0.36"
atu = "minute"
max = 2
reliable = false
{backend}

[[offering]]
name = "sure"
price = "1.80"
atu = "minute"
max = 1
backend = "local"
"""
ON_EC2 = """[offering.ec2]
image = "{image}"
instance_type = "t3.large"
region = "us-east-1"
spot = true
worker = ["{python}", "-m", "bats.worker"]"""
ON_SLURM = '[offering.slurm]\npartition = "debug"'
STRATEGY = "N=0 T=0 D=600 M_r=0.5"
"""In the tail each task has one more chance, at once, on the one reliable machine."""

Take = Callable[[dict[str, Any]], None]


@pytest.mark.backend("ec2")
def test_spot_first_and_a_sure_machine_at_the_end_with_amazon(
    user: User, ec2_bed: Bed, tmp_path: Path
) -> None:
    user.environment |= ec2_bed.environment
    image = ec2_bed.environment["BATS_EC2_AMI"]
    clouds = ON_EC2.format(image=image, python=BATS.with_name("python"))

    def take(machine: dict[str, Any]) -> None:
        (ec2_bed.state / "i" / machine["address"].split()[0] / "interrupt").write_text("2")

    spot_first(user, tmp_path, clouds, take, "Amazon took it away")


@pytest.mark.backend("slurm")
def test_spot_first_and_a_sure_machine_at_the_end_with_slurm(
    user: User, slurm_bed: Bed, tmp_path: Path
) -> None:
    user.environment |= slurm_bed.environment

    def take(machine: dict[str, Any]) -> None:
        node = machine["address"].rpartition(" ")[2]
        where = ("--partition=urgent", "--exclusive", f"--nodelist={node}", "--output=/dev/null")
        slurm_bed.run("sbatch", *where, "--wrap", "true")

    spot_first(user, tmp_path, ON_SLURM, take, "Slurm gave its place to another job")


def spot_first(user: User, folder: Path, backend: str, take: Take, reason: str) -> None:
    """Four tasks, each with a gate of its own; the machine of one is taken away amid it."""
    clouds = user.write("c.toml", CLOUDS.format(backend=backend))
    words = ("--clouds", clouds, "--budget", "5", "--tail", "ntdmr", "--strategy", STRATEGY)
    begun, gate = folder / "$BATS_CLUSTER.$BATS_TASK_ID.$BATS_ATTEMPT", folder / "$BATS_TASK_ID"
    work = f'touch "{begun}"; until [ -e "{gate}" ]; do sleep 0.1; done'
    with user.master():
        user.bats("submit", "--array", "1-4", *words, "--", work)
        victim, _ = until(lambda: len(found := at_work(user)) == 2 and found, 120)
        take(victim)
        gone = until(lambda: (it := user.machine(victim["id"]))["state"] == "gone" and it, 90)
        assert gone["reason"] == reason
        until(lambda: len(list(folder.glob("spot.*"))) >= 3, 120)  # on another, or the one left
        assert not list(folder.glob("sure.*")), "only the tail pays for a sure machine"
        for task in range(3):
            (folder / f"{task}").touch()
        until(lambda: list(folder.glob("sure.3.*")), 120)
        (folder / "3").touch()
        user.bats("watch")
    status = user.facts("status", "last")
    assert (status["state"], status["done"]) == ("complete", 4)
    rows = [json.loads(line) for line in user.bats("results", "--json").stdout.splitlines()]
    assert sorted(row["task"] for row in rows) == [0, 1, 2, 3]
    assert victim["id"] not in {row["machine"] for row in rows}, "what was lost ran again"
    assert float(status["spent"]) <= 5


def at_work(user: User) -> list[dict[str, Any]]:
    return [one for one in user.machines_told() if one["running"]]
