"""The suite itself: it runs wherever a shell may start it, and CI lets nothing go untested."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
INTERRUPTING = "cli/test_logs.py::test_an_interrupt_only_ends_the_following"
SKIPS = """
import pytest

@pytest.fixture
def a_bed():
    pytest.skip("needs root")

def test_of_the_bed(a_bed): ...

@pytest.mark.skipif(True, reason="needs a library")
def test_of_the_library(): ...

def test_of_what_needs_a_mount():
    pytest.skip("mounting needs root")

def test_of_what_a_back_end_leaves_out():
    pytest.skip("by design: it has no queue")

@pytest.mark.xfail
def test_of_what_is_known_not_to_hold():
    raise AssertionError

def test_of_what_holds(): ...
"""


def test_what_tests_interrupt_ends_though_the_suite_runs_in_the_background_of_a_shell() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS / INTERRUPTING]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command],
        cwd=TESTS.parent, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("ci", "ended"),
    [
        ("true", "1 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors"),
        ("", "1 passed, 4 skipped, 1 xfailed"),
    ],
)
def test_a_test_that_is_skipped_for_want_of_something_fails_in_ci(
    tmp_path: Path, ci: str, ended: str
) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "helpers.skips", "-p", "no:cacheprovider", tmp_path],
        env={**os.environ, "CI": ci, "PYTHONPATH": str(TESTS)},
        cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert f" {ended} in " in done.stdout
    assert done.returncode == (1 if ci else 0)
    assert ("though CI has what it takes: needs a library" in done.stdout) is bool(ci)


@pytest.mark.parametrize(
    ("folder", "chosen", "ran"),
    [
        ("brain", ["--cross-section"], "2 passed"),
        ("web", ["--cross-section"], "4 passed"),
        ("scripts", ["--cross-section"], "4 deselected"),
        ("scripts", [], "4 passed"),
    ],
)
def test_of_a_cross_section_each_module_runs_a_test_and_what_may_differ_runs_whole(
    tmp_path: Path, folder: str, chosen: list[str], ran: str
) -> None:
    for module in ("one", "two"):
        path = tmp_path / folder / f"test_{module}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("def test_first(): ...\ndef test_second(): ...\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--import-mode=importlib", "-p", "no:cacheprovider",
         "-p", "helpers.cross_section", *chosen, tmp_path],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert f" {ran} in " in done.stdout.replace(",", " in")
