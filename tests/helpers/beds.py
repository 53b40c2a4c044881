"""Fixtures that start the real back ends, once per session and only if a test asks for them.

@pytest.mark.backend("slurm")
def test_...(slurm_bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm_bed.enter(monkeypatch)  # now sbatch, squeue ... speak to it
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = REPOSITORY / "scripts" / "testbeds"
CANNOT = 77  # what a bed's script exits with on a machine that cannot have it


@dataclass(frozen=True, slots=True)
class Bed:
    """A running back end: its state folder (logs, pids, switches) and how to reach it."""

    name: str
    folder: Path
    environment: Mapping[str, str]

    @property
    def state(self) -> Path:
        return (self.folder / "state").resolve()

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make this process and its children speak to the bed, until the test ends."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)

    def run(self, *command: str | Path) -> str:
        """The output of one command in the bed's environment; fails with what it complained of."""
        done = subprocess.run(
            command,
            env={**os.environ, **self.environment},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (
            f"{shlex.join(map(str, command))}: {done.stderr or done.stdout}"
        )
        return done.stdout.strip()

    def mark(self, name: str) -> str:
        """The mark in the environment of its jobs' processes, and those of no other bed."""
        return f"{name}={self.environment[name]}"

    def heal(self) -> None:
        """Start again what a test has killed."""
        _up(self.name, self.folder)


def kill_marked(*entries: str, command: str = "", number: int = signal.SIGKILL) -> None:
    """Kill, as a power cut would, every process with each `NAME=value` in its environment.

    Only those, if it is given, whose command line holds `command`. The number of a job is not
    enough: every bed counts from 1, and tests run side by side.
    """
    wanted = {entry.encode() for entry in entries}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            marked = wanted.issubset((process / "environ").read_bytes().split(b"\0"))
            if marked and command.encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), number)


@contextmanager
def bed(name: str, folder: Path, **parameters: str) -> Iterator[Bed]:
    """A bed of one's own; parameters are those at the top of scripts/testbeds/NAME."""
    try:
        yield Bed(name, folder, _up(name, folder, **parameters))
    finally:
        subprocess.run([SCRIPTS / name, "down", folder], check=True)


def _up(name: str, folder: Path, **parameters: str) -> dict[str, str]:
    done = subprocess.run(
        [SCRIPTS / name, "up", folder],
        env={**os.environ, "OWNER": str(os.getpid()), "BIND": str(REPOSITORY), **parameters},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode == CANNOT:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    words = (word for word in shlex.split(done.stdout) if word != "export")
    return dict(word.split("=", 1) for word in words)


@pytest.fixture(scope="session")
def slurm_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with bed("slurm", tmp_path_factory.mktemp("slurm")) as it:
        yield it


@pytest.fixture(scope="session")
def sge_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with bed("sge", tmp_path_factory.mktemp("sge")) as it:
        yield it


@pytest.fixture(scope="session")
def ssh_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Hosts h1, h2, h3: `BATS_SSH_CONFIG` names the ssh configuration that knows them."""
    with bed("sshd", tmp_path_factory.mktemp("sshd"), HOSTS="3") as it:
        yield it


@pytest.fixture(scope="session")
def ec2_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Instances are processes of this computer; they see its files and reach its loopback."""
    with bed("ec2", tmp_path_factory.mktemp("ec2"), BOOT="process") as it:
        yield it


@pytest.fixture(scope="session")
def ec2_netns_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Instances are machines with addresses of their own; they reach us at `BATS_EC2_GATEWAY`."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with bed("ec2", tmp_path_factory.mktemp("ec2-netns"), BOOT="netns") as it:
        yield it


@pytest.fixture(scope="session")
def htcondor_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Takes a minute or two to install, the first time."""
    share = f"{sys.base_prefix}:{sys.prefix}"
    with bed("htcondor", tmp_path_factory.mktemp("htcondor"), SHARE=share) as it:
        yield it


@pytest.fixture(scope="session")
def chromium_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with bed("chromium", tmp_path_factory.mktemp("chromium")) as it:
        yield it


@pytest.fixture(scope="session")
def kernel_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """`BATS_KERNEL` runs a command on a Linux of its own, with all control groups."""
    with bed("kernel", tmp_path_factory.mktemp("kernel")) as it:
        yield it
