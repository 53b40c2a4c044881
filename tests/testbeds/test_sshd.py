"""The ssh bed is three machines: they answer, crash, come back, and do not share their files."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from helpers.beds import Bed
from helpers.waiting import until

pytestmark = pytest.mark.backend("ssh")


def ssh(bed: Bed, host: str, command: str) -> str:
    return bed.run("ssh", "-F", bed.environment["BATS_SSH_CONFIG"], host, command)


@pytest.fixture
def machines(ssh_bed: Bed) -> Bed:
    if ssh_bed.environment["BATS_SSH_MODE"] != "netns":
        pytest.skip("on loopback the hosts are all this computer")
    return ssh_bed


def test_every_host_answers(ssh_bed: Bed) -> None:
    hosts = ssh_bed.environment["BATS_SSH_HOSTS"].split()
    assert [ssh(ssh_bed, host, "echo hello") for host in hosts] == ["hello"] * 3


def test_every_host_is_a_machine_of_its_own(machines: Bed, tmp_path: Path) -> None:
    assert [ssh(machines, h, "hostname") for h in ("h1", "h2", "h3")] == ["h1", "h2", "h3"]
    ssh(machines, "h1", f"mkdir -p {tmp_path}/deep && touch {tmp_path}/deep/file")
    assert ssh(machines, "h2", f"ls {tmp_path}") == ""
    assert list(tmp_path.iterdir()) == []


def test_hosts_reach_one_another_and_this_machine_by_address(machines: Bed) -> None:
    gateway = machines.environment["BATS_SSH_GATEWAY"]
    assert ssh(machines, "h1", "head -c 3 </dev/tcp/h2/22") == "SSH"
    with socket.create_server((gateway, 0)) as master:
        port = master.getsockname()[1]
        assert ssh(machines, "h1", f"echo hello >/dev/tcp/{gateway}/{port}") == ""
        connection, _ = master.accept()
        with connection:
            assert connection.recv(9) == b"hello\n"


def test_a_host_that_crashes_answers_no_more_until_it_is_booted_again(machines: Bed) -> None:
    os.kill(int((machines.state / "run" / "h3.pid").read_text()), signal.SIGKILL)
    config = machines.environment["BATS_SSH_CONFIG"]
    there = ["ssh", "-F", config, "-S", "none", "h3", "true"]
    until(lambda: subprocess.run(there, check=False, capture_output=True).returncode == 255)
    machines.heal()
    assert ssh(machines, "h3", "echo back") == "back"
