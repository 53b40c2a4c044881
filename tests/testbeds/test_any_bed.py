"""Beds come and go: two of a kind do not collide, and nothing is left, however the session ends."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.beds import SCRIPTS, bed
from helpers.waiting import until
from helpers.workers import processes_of

CHEAP = [
    pytest.param("slurm", {"NODES": "1"}, marks=pytest.mark.backend("slurm")),
    pytest.param("sshd", {"HOSTS": "1"}, marks=pytest.mark.backend("ssh")),
    pytest.param("sshd", {"HOSTS": "1", "MODE": "loopback"}, marks=pytest.mark.backend("ssh")),
    pytest.param("ec2", {"BOOT": "process"}, marks=pytest.mark.backend("ec2")),
    pytest.param("ec2", {}, marks=pytest.mark.backend("ec2")),
]


def links(network: str) -> list[str]:
    """The bridge and the cables of the bed with this network; other beds have theirs."""
    every = (link.name for link in Path("/sys/class/net").iterdir())
    return [name for name in every if re.fullmatch(rf"bats-s{network}|bs{network}\.\d+", name)]


@pytest.mark.parametrize(("name", "parameters"), CHEAP)
def test_two_of_a_kind_in_folders_with_blanks_do_not_collide_and_leave_nothing(
    name: str, parameters: dict[str, str], tmp_path: Path
) -> None:
    one, other = tmp_path / "bed one", tmp_path / "bed two"
    with bed(name, one, **parameters) as first, bed(name, other, **parameters) as second:
        states = first.state, second.state
        assert all(processes_of(state) for state in states)
    assert [p for state in states for p in processes_of(state)] == []
    assert [p for p in (one, other, *states) if p.exists()] == []


@pytest.mark.backend("ssh")
def test_a_bed_whose_owner_is_killed_goes_down_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "bed"
    with subprocess.Popen(["sleep", "999"]) as owner:
        try:
            environment = {**os.environ, "OWNER": str(owner.pid), "HOSTS": "1"}
            subprocess.run([SCRIPTS / "sshd", "up", folder], env=environment, check=True)
            state = (folder / "state").resolve()
            network = (state / "net").read_text().strip()
            assert links(network)
        finally:
            owner.kill()
    until(lambda: not folder.exists())
    until(lambda: not processes_of(state))
    assert not links(network)


def _own_folder(folder: Path) -> None:
    (folder / "mine").write_text("keep")


def _other_bed(folder: Path) -> None:
    (folder / ".testbed").write_text("sge\n")


@pytest.mark.parametrize("fill", [_own_folder, _other_bed])
def test_a_folder_that_is_not_the_beds_own_is_left_alone(
    fill: Callable[[Path], None], tmp_path: Path
) -> None:
    fill(tmp_path)
    before = sorted(tmp_path.iterdir())
    for action in ("up", "down"):
        subprocess.run([SCRIPTS / "sshd", action, tmp_path], check=False, capture_output=True)
    assert sorted(tmp_path.iterdir()) == before
