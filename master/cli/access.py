"""Connections: from the global options to the master they mean, or to what it left on disk."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bats.common.errors import UnreachableError
from bats.common.wire.keys import Access, read_access
from bats.master.cli.archive import Archive
from bats.master.cli.base import Common
from bats.master.client import Client, connect

ACCESS = "access.json"
_STORE = "store.db"


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


def has_store(common: Common) -> bool:
    """True if a master has left its books in the state folder."""
    return (common.state / _STORE).exists()


@asynccontextmanager
async def reach(common: Common) -> AsyncIterator[Client]:
    """The master, which must be there."""
    async with connect(access_of(common)) as client:
        yield client


@asynccontextmanager
async def look(common: Common) -> AsyncIterator[Client | Archive]:
    """Likewise, to look only; where the master has ended, its state folder answers."""
    async with AsyncExitStack() as stack:
        asked: Client | Archive
        try:
            asked = await stack.enter_async_context(connect(access_of(common)))
        except UnreachableError as error:
            if common.access or not has_store(common):
                raise
            asked = Archive(common.state, error)
        yield asked
