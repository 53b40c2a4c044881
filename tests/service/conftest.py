"""Masters for the tests: in this process, or in one that can be killed."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from service_helpers import KillableMaster, end_workers, free

from bats.master.client import Client, connect
from bats.master.service.master import Master
from bats.master.service.options import Options


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[Callable[..., KillableMaster]]:
    """Makes masters that are ended with the test, and so are the workers they leave."""
    made: list[KillableMaster] = []

    def make(**options: Any) -> KillableMaster:
        made.append(KillableMaster(tmp_path / "state", **options))
        return made[-1]

    yield make
    for master in made:
        master.end()
    end_workers(tmp_path)


@pytest.fixture
async def master(tmp_path: Path) -> AsyncIterator[Master]:
    """One in this process, with this computer's processes for machines."""
    async with Master(Options(state=tmp_path / "state", offerings=(free(),))) as made:
        yield made
    end_workers(tmp_path)


@pytest.fixture
async def client(master: Master) -> AsyncIterator[Client]:
    async with connect(master.access) as made:
        yield made
