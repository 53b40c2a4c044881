"""The frame of all tests: no process outlives them, no example depends on chance."""

import os
import signal
from collections.abc import Iterator

import pytest
from helpers.waiting import until
from helpers.workers import end_workers, processes_of
from hypothesis import HealthCheck, settings

pytest_plugins = ["helpers.beds", "helpers.cross_section", "helpers.skips"]
pytest.register_assert_rewrite("bats.deploy.testing")  # its assertions, too, say what was seen

# How long an example takes says more about the computer than about us. The examples are the same
# every time, so that a failure can be looked at.
settings.register_profile(
    "bats", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("bats")

# In the background of a shell Ctrl-C is ignored, and would be by all that tests start: a program
# does not undo that for itself. What we catch ourselves, they find as it usually is.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No process outlives the tests, neither machines of a master nor what a bed runs."""
    folder = tmp_path_factory.getbasetemp()
    yield

    def left() -> list[str]:
        return [one for one in processes_of(f"{folder}/") if int(one.split()[0]) != os.getpid()]

    until(lambda: not left(), 30, left)


@pytest.fixture(autouse=True)
def its_workers_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test's masters end before; their machines would wait for others a quarter of an hour."""
    yield
    if folder := request.node.funcargs.get("tmp_path"):
        end_workers(folder)
