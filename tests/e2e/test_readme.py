"""What the README promises: its sweep, its commands, its Python and its links work as printed."""

import re
import shlex
from pathlib import Path

import pytest
from programs import User

from bats.master.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.checkout


def readme() -> str:
    return (ROOT / "README.md").read_text()


def test_every_command_in_the_readme_exists_with_its_options(user: User) -> None:
    sweep = re.search(r"```toml\n(.*?)```", readme(), re.DOTALL)
    assert sweep
    user.write("sweep.toml", sweep[1])
    for line in re.findall(r"^    (bats [^#\n]*)", readme(), re.MULTILINE):
        words = shlex.split(line.partition(">")[0])[1:]
        assert words[0] in COMMANDS
        if words[0] in {"run", "submit"}:
            assert user.facts(*[w for w in words if w != "--dry-run"], "--dry-run")["tasks"] == 33
        elif words[0] not in {"clouds", "master"}:
            assert user.bats(*words, exit_code=4).stderr.startswith("bats: No master has run")


def test_a_clouds_file_to_start_from_can_be_checked(user: User) -> None:
    user.write("bats-clouds.toml", user.bats("clouds", "init").stdout)
    assert user.facts("clouds", "show")["file"] == "bats-clouds.toml"


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", readme()):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("name", ["shell", "csv", "files", "array"])
def test_each_example_runs_as_printed(user: User, name: str) -> None:
    done = user.facts("run", str(ROOT / f"scripts/examples/{name}.toml"))
    assert (done["state"], done["failed"]) == ("complete", 0)
