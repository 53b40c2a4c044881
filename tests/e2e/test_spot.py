"""A spot instance that Amazon announces to take away gets no more tasks, and its bag goes on."""

import json
from pathlib import Path

import pytest
from helpers.beds import Bed
from helpers.user import BATS, User
from helpers.waiting import until

pytestmark = pytest.mark.backend("ec2")
CLOUDS = """
[[offering]]
name = "spot"
price = "0.36"
atu = "minute"
max = 2
[offering.ec2]
image = "{image}"
instance_type = "t3.large"
region = "us-east-1"
spot = true
worker = ["{python}", "-m", "bats.worker"]
"""
NOTICE_SECONDS = 45  # Amazon gives 120


def test_an_announced_interruption_drains_the_machine_and_its_reason_is_told(
    user: User, ec2_bed: Bed, tmp_path: Path
) -> None:
    user.environment |= ec2_bed.environment
    image = ec2_bed.environment["BATS_EC2_AMI"]
    clouds = CLOUDS.format(image=image, python=BATS.with_name("python"))
    gate = tmp_path / "gate"
    work = f"until [ -e '{gate}' ]; do sleep 0.2; done"
    words = ("--array", "1-30", "--clouds", user.write("c.toml", clouds), "--budget", "2")
    with user.master():  # of its own: that of a run ends with its bag, and answers nobody then
        user.bats("submit", *words, "--", work)
        victim = until(lambda: busy(user), 120)
        (ec2_bed.state / "i" / victim["address"].split()[0] / "interrupt").write_text(
            f"{NOTICE_SECONDS}"
        )
        until(lambda: user.machine(victim["id"])["leaving"], 60)
        gate.touch()  # what it runs may end
        gone = until(
            lambda: (it := user.machine(victim["id"]))["state"] == "gone" and it,
            60,
            lambda: user.bats("machines").stdout + user.bats("explain").stdout,
        )
        assert gone["reason"] == "Amazon took it away"
        user.bats("watch")
    assert user.facts("status", "last")["done"] == 30
    rows = map(json.loads, user.bats("results", "--json").stdout.splitlines())
    of_victim = [row for row in rows if row["machine"] == victim["id"]]
    assert len(of_victim) <= 1, "it was given no task after the announcement"
    decided = user.bats("explain").stdout
    assert "gets no more tasks: Amazon has announced to take it away" in decided


def busy(user: User) -> dict[str, object] | None:
    at_work = (one for one in user.machines_told() if one["state"] == "up" and one.get("running"))
    return next(at_work, None)
