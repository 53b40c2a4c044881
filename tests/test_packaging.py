"""What is packaged is what is there; layers import only what they may."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("common", "deploy", "master", "worker")


def pyproject() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.checkout
def test_every_folder_with_modules_is_in_the_wheel() -> None:
    found = {
        "bats." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in path.parts
    }
    assert "bats.master.bats" in found  # what `import bats` gives stands there
    found = (found - {"bats.master.bats"}) | {"bats"}
    assert found == set(pyproject()["tool"]["setuptools"]["packages"])  # type: ignore[index]


@pytest.mark.checkout
def test_no_room_holds_more_modules_than_one_can_look_over() -> None:
    rooms = Counter(
        path.parent.relative_to(ROOT)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    )
    assert {str(room): count for room, count in rooms.items() if count > 14} == {}


@pytest.mark.checkout
def test_no_module_is_longer_than_one_can_read_at_a_sitting() -> None:
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {path: count for path, count in lines.items() if count > 450} == {}


@pytest.mark.checkout
def test_nobody_outside_the_brain_reaches_into_an_engine() -> None:
    brain = ROOT / "master" / "brain"
    reaching = [
        path.relative_to(ROOT)
        for path in (ROOT / "master").rglob("*.py")
        if brain not in path.parents and re.search(r"engine\.run\b", path.read_text())
    ]
    assert reaching == []


@pytest.mark.checkout
def test_the_top_level_holds_only_what_the_house_allows() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    top = {name.split("/")[0].strip('"') for name in tracked if name}
    allowed = {*FOLDERS, "tests", "scripts", "pyproject.toml", "README.md", "LICENSE"}
    assert {name for name in top if not name.startswith(".")} <= allowed | {
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    }


def test_both_console_scripts_are_the_same_program() -> None:
    scripts = {e.name: e.value for e in entry_points(group="console_scripts")}
    assert scripts["bats"] == scripts["bats-scheduler"]


# rich is not among them: structlog takes it up where it is installed, and a light worker has none
HEAVY = ["numpy", "scipy", "pydantic", "click", "starlette", "uvicorn", "aiohttp", "boto3"]


def test_importing_the_worker_loads_nothing_heavy() -> None:
    code = (
        "import pkgutil, importlib, sys, bats, bats.worker\n"
        "for m in pkgutil.walk_packages(bats.worker.__path__, 'bats.worker.'):\n"
        "    if m.name != 'bats.worker.__main__': importlib.import_module(m.name)\n"
        f"print(*sorted(set(sys.modules) & set({HEAVY!r})))\n"
        "print(*sorted(m for m in sys.modules if m.startswith(('bats.master', 'bats.deploy'))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.split() == []
