"""A tail strategy of another package is known to every command once that package is installed."""

from pathlib import Path

import pytest
from helpers.pages import blocks
from helpers.user import User

pytestmark = pytest.mark.checkout

NAME = "longest-running"


def installed(user: User, text: str) -> None:
    """As pip leaves it: a module, and the entry point that names it."""
    site = user.folder / "site"
    described = site / "somebody_elses-1.0.dist-info"
    described.mkdir(parents=True)
    (site / "somebody_elses.py").write_text(text)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody-elses\nVersion: 1\n")
    (described / "entry_points.txt").write_text("[bats.policies]\nours = somebody_elses\n")
    user.environment["PYTHONPATH"] = str(site)


def test_a_bag_is_run_by_the_strategy_of_the_concepts_page(tmp_path: Path) -> None:
    user = User(tmp_path)
    words = ("run", "--tail", NAME, "-p", "n=1,2,3", "--", "echo", "{n}")
    refused = user.bats(*words, exit_code=2).stderr
    assert f"'{NAME}' is not one of none, random" in refused
    [block] = [one for one in blocks("master/brain/README.md") if one.kind == "python"]
    installed(user, block.text)
    assert "3 of 3 tasks done" in user.bats(*words).stdout
    user.write("sweep.toml", f'command = "true"\narray = "1-3"\n[policy]\ntail = "{NAME}"\n')
    assert "3 of 3 tasks done" in user.bats("run", "sweep.toml").stdout


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    user = User(tmp_path)
    installed(user, "import nothing_of_that_name")
    said = user.bats("run", "--", "true", exit_code=None)
    assert said.returncode != 0
    assert "The policies of `ours` cannot be imported from somebody_elses" in said.stderr
    assert "mend or remove its package" in said.stderr
