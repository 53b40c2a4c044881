"""In CI a test that is skipped has failed: its machine has all that tests need, root included.

Elsewhere a test skips what a computer cannot have. Nobody reads lists of skips, so there must be a
place where they are not allowed. What a back end leaves out by design is no such skip.
"""

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        assert isinstance(report.longrepr, tuple)
        _, _, said = report.longrepr
        why = said.removeprefix("Skipped: ")
        if not why.startswith("by design: "):
            report.outcome = "failed"
            report.longrepr = f"skipped, though CI has what it takes: {why}"
    return report
