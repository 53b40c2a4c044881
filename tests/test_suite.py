"""The suite itself: it runs wherever a shell may start it, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
INTERRUPTING = "cli/test_logs.py::test_an_interrupt_only_ends_the_following"


def test_what_tests_interrupt_ends_though_the_suite_runs_in_the_background_of_a_shell() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS / INTERRUPTING]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command],
        cwd=TESTS.parent, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
