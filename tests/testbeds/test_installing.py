"""Packages are there when they are configured, not as soon as their programs are.

Debian's tools are replaced by small ones that take their time and write down what they were asked.
"""

import os
import subprocess
from pathlib import Path

import pytest
from helpers.beds import CANNOT, SCRIPTS

BEDS = ["chromium", "ec2", "htcondor", "kernel", "sge", "slurm", "sshd"]
NEED = (
    f'. "{SCRIPTS}/lib.sh"; S=$1; mkdir -p "$S/log"; need prog prog-server prog-client; cat state'
)
QUERY = r"""
grep -q . state && for package in prog-server prog-client; do cat state; done || exit 1
"""
GET = r"""
echo "$*" >>asked
case $* in *install*) ;; *) exit;; esac
printf '#!/bin/sh\n' >bin/prog && chmod +x bin/prog && echo unpacked >state
sleep 0.5
echo installed >state
"""


class System:
    """A folder of programs that are found first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        self.program("dpkg-query", QUERY)
        self.program("apt-get", GET)
        self.program("dpkg", 'echo "dpkg $*" >>asked')
        self.program("id", "echo 0")
        self.state("")

    def program(self, name: str, script: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def state(self, state: str) -> None:
        """Of both packages; empty: dpkg has never heard of them."""
        (self.folder / "state").write_text(f"{state}\n" if state else "")

    def asked(self) -> list[str]:
        path = self.folder / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if "update" not in line]

    def needs(self, number: int = 1) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", "-c", NEED, "bed", str(self.folder / f"bed{number}")],
            cwd=self.folder,
            env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def found(self) -> tuple[int, str]:
        with self.needs() as bed:
            assert bed.stdout
            said = bed.stdout.read()
        return bed.returncode, said


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_a_session_that_comes_second_waits_until_the_packages_are_configured(
    system: System,
) -> None:
    system.state("not-installed")
    with system.needs(1) as first, system.needs(2) as second, system.needs(3) as third:
        said = [bed.communicate()[0] for bed in (first, second, third)]
    assert said == ["installed\n"] * 3
    assert len(system.asked()) == 1


@pytest.mark.parametrize("state", ["unpacked", "half-configured", "half-installed"])
def test_what_a_killed_session_left_half_done_is_finished(system: System, state: str) -> None:
    system.program("prog", "true")
    system.state(state)
    assert system.found() == (0, "installed\n")
    assert system.asked()[0] == "dpkg --configure -a"


def test_what_is_installed_is_left_alone(system: System) -> None:
    system.state("installed")
    assert system.found() == (0, "installed\n")
    assert system.asked() == []


def test_a_program_that_came_without_packages_will_do(system: System) -> None:
    system.program("prog", "true")
    assert system.found() == (0, "")
    assert system.asked() == []


def test_who_may_not_install_is_told_what_is_missing(system: System) -> None:
    system.program("id", "echo 1000")
    assert system.found() == (
        CANNOT,
        "bed: needs the packages prog-server prog-client; install them, or run as root\n",
    )


def test_what_went_wrong_is_told(system: System) -> None:
    system.program("apt-get", "echo no network; exit 100")
    code, said = system.found()
    assert code == 1
    assert "could not install prog-server prog-client: no network" in said


@pytest.mark.parametrize("name", BEDS)
def test_a_bed_says_what_it_installs(name: str) -> None:
    done = subprocess.run([SCRIPTS / name, "packages"], capture_output=True, text=True, check=True)
    assert done.stdout.split()


APT = r"""
echo "$*" >>asked
case $* in
    "-s purge chromium") echo "Purg chromium [1]";;
    "-s purge fonts-dejavu-core") echo "Purg fonts-dejavu-core [1]"; echo "Purg office [1]";;
    "-s purge --autoremove chromium") printf 'Purg %s [1]\n' chromium libchrome leftover;;
    "-s autoremove") echo "Remv leftover [1]";;
esac
"""


@pytest.fixture
def apt(system: System) -> System:
    """A computer with Chromium's packages, the users of a font, and what nobody needs."""
    system.program("apt-get", APT)
    system.program(
        "dpkg-query", "case $* in *chromium|*dejavu*|*ssh-client) printf installed;; esac"
    )
    system.program("pgrep", "exit 1")
    return system


def purge(system: System, ci: str) -> "subprocess.CompletedProcess[str]":
    path = f"{system.folder}/bin:{os.environ['PATH']}"
    return subprocess.run(
        [SCRIPTS / "purge"], cwd=system.folder, env={**os.environ, "CI": ci, "PATH": path},
        check=False, capture_output=True, text=True,
    )  # fmt: skip


def test_purging_removes_what_beds_install_and_nothing_that_others_use(apt: System) -> None:
    done = purge(apt, "true")
    assert done.returncode == 0, done.stderr
    assert "fonts-dejavu-core stays, as it is needed by office" in done.stdout
    removed = [line for line in apt.asked() if not line.startswith("-s ")]
    assert removed == ["purge -y -qq chromium libchrome"]


@pytest.mark.parametrize(("ci", "user"), [("", "0"), ("true", "1000")])
def test_purging_is_for_machines_of_ci(apt: System, ci: str, user: str) -> None:
    apt.program("id", f"echo {user}")
    assert purge(apt, ci).returncode == 2
    assert apt.asked() == []
