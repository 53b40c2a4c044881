"""The sweeps that newcomers start from are right, and their tasks run."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bats.master.sweep.sweep import Sweep
from bats.master.sweep.sweep_model import SweepFile
from bats.master.sweep.sweep_reading import load

FOLDER = Path(__file__).parents[2] / "scripts" / "examples"
NAMES = ["shell", "python", "csv", "files", "array", "steps"]


def run(sweep: Sweep, index: int, scratch: Path) -> str:
    """The work of a worker, done the simplest way."""
    for path in sweep.input_paths():
        target = scratch / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(sweep.base) / path, target)
    values = sweep.parameters(index)
    array = {"SLURM_ARRAY_TASK_ID": values.get("array", "")}
    done = subprocess.run(
        ["sh", "-c", sweep.preview(index)],
        cwd=sweep.cwd or scratch,
        env=os.environ | array,
        input=sweep.stdin.format_map(values),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_shell_counts_primes(tmp_path: Path):
    sweep = load(FOLDER / "shell.toml")
    assert run(sweep, 0, tmp_path) == "669\n"
    assert run(sweep, 19, tmp_path).strip().isdecimal()


def test_python_finds_that_dense_stones_let_no_water_through(tmp_path: Path):
    sweep = load(FOLDER / "python.toml")
    said = [json.loads(run(sweep, index, tmp_path)) for index in (1, sweep.count - 1)]
    assert [one["through"] for one in said] == [False, True]
    assert said[1] == {"density": 0.7, "seed": 4, "size": 60, "through": True} | {
        "wet": said[1]["wet"]
    }


def test_csv_knows_how_long_a_year_is(tmp_path: Path):
    sweep = load(FOLDER / "csv.toml")
    assert run(sweep, 2, tmp_path) == "Earth: a year of 1.000 years, 29.3 to 30.3 km/s\n"


def test_files_are_brought_and_fetched(tmp_path: Path):
    sweep = load(FOLDER / "files.toml")
    run(sweep, 0, tmp_path)
    assert json.loads((tmp_path / "words-harbour.json").read_text())["words"] == 41


def test_array_is_a_slurm_script_unchanged(tmp_path: Path):
    sweep = load(FOLDER / "array.toml")
    assert run(sweep, 12, tmp_path) == "2025-04-20\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_how_many_tasks_there_are(name: str):
    count = load(FOLDER / f"{name}.toml").count
    lines = (FOLDER / "README.md").read_text().splitlines()
    assert any(f"[{name}.toml]" in line and line.endswith(f"| {count} |") for line in lines)


def test_the_page_names_every_key():
    page = (FOLDER / "README.md").read_text()
    for key in SweepFile.model_fields:
        assert f"`{key}`" in page or f"`[{key}]`" in page or f"`[[{key}]]`" in page
