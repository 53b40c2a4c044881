"""Masters in this process, or in one that can be killed, for whoever imports them."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from service_helpers import KillableMaster, free
from workers_here import end_workers

from bats.master.client import Client, connect
from bats.master.service.master import Master
from bats.master.service.options import Options


@pytest.fixture
async def master(tmp_path: Path) -> AsyncIterator[Master]:
    """With this computer's processes for machines."""
    async with Master(Options(state=tmp_path / "state", offerings=(free(),))) as made:
        yield made
    end_workers(tmp_path)


@pytest.fixture
async def client(master: Master) -> AsyncIterator[Client]:
    async with connect(master.access) as made:
        yield made


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
