"""Of most modules of tests the first test alone: for files that have been tested elsewhere.

`--cross-section` is how scripts/check-wheel says that a wheel's files are the checkout's. What may
differ there all the same is how they are found, started and shipped: the rooms that do so are
tested whole, of the others each module of tests is imported and shows that what it is about runs.
What is in no wheel is left out.
"""

from itertools import groupby
from typing import Final

import pytest

WHOLE: Final = frozenset({"cli", "clouds", "deploy", "e2e", "report", "tests", "web"})
"""Folders of tests: of programs, of what is started elsewhere, of what reads files beside it."""
NONE: Final = frozenset({"scripts", "testbeds", "workloads"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cross-section", action="store_true", help="the first test of most modules")


@pytest.hookimpl(trylast=True)  # after those that are not to run at all have been left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--cross-section"):
        return
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for path, of_module in groupby(items, lambda item: item.path):
        first, *others = of_module
        room = path.parent.name
        (left_out if room in NONE else kept).append(first)
        (kept if room in WHOLE else left_out).extend(others)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
