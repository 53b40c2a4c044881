"""Masters for the tests: in this process, or in one that can be killed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from service_fixtures import client, master
from service_helpers import KillableMaster, end_workers

__all__ = ["client", "killable", "master"]


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[Callable[..., KillableMaster]]:
    """Makes masters that are ended with the test, and so are the workers they leave."""
    made: list[KillableMaster] = []

    def make(**options: Any) -> KillableMaster:
        made.append(KillableMaster(tmp_path / "state", **options))
        return made[-1]

    yield make
    for one in made:
        one.end()
    end_workers(tmp_path)
