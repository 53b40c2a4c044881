"""From the global options to the master they mean."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bats.common.errors import UnreachableError
from bats.common.keys import Access, read_access
from bats.master.cli.base import Common
from bats.master.client import Client, connect

ACCESS = "access.json"


def access_of(common: Common) -> Access:
    """Raises UnreachableError when no master ever ran here."""
    if common.access:
        return read_access(common.access.expanduser(), "client")
    path = common.state / ACCESS
    if not path.exists():
        raise UnreachableError(
            f"No master has run with the state folder {common.state}. Start one with "
            "`bats master`, name another folder with `--state`, or an access file with `--access`."
        )
    return read_access(path, "client")


@asynccontextmanager
async def reach(common: Common) -> AsyncIterator[Client]:
    async with connect(access_of(common)) as client:
        yield client
