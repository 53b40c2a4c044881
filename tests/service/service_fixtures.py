"""A master in this process and a client of it, for whoever imports them into a conftest."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from service_helpers import end_workers, free

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
