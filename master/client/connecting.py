"""The way to a master, by its access file."""

from contextlib import AsyncExitStack, ExitStack, closing
from pathlib import Path

from bats.common.folders import default_state
from bats.common.wire.keys import Access, read_access
from bats.master.client.client import Client
from bats.master.client.without_asyncio import LoopThread, SyncClient
from bats.master.link import CONNECT_SECONDS, link


class _Connecting:
    """The connection that `connect` returns: opened by `with` or by `async with`."""

    def __init__(self, access: Access, timeout_seconds: float) -> None:
        self._access = access
        self._timeout_seconds = timeout_seconds
        self._open = AsyncExitStack()
        self._thread = ExitStack()

    async def __aenter__(self) -> Client:
        made = link(self._access, timeout_seconds=self._timeout_seconds)
        return Client(await self._open.enter_async_context(made))

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def __enter__(self) -> SyncClient:
        with ExitStack() as stack:
            thread = stack.enter_context(closing(LoopThread()))
            client = thread.run(self.__aenter__())
            stack.callback(lambda: thread.run(self.__aexit__()))
            self._thread = stack.pop_all()
        return SyncClient(client, thread)

    def __exit__(self, *_: object) -> None:
        self._thread.close()


def connect(
    access: Access | str | Path | None = None, *, timeout_seconds: float = CONNECT_SECONDS
) -> _Connecting:
    """The way to a master, by its access file; None means this computer's, in the state folder.

    with connect("access.json") as master:
        print(master.bag().status()["state"])
    """
    if access is None:
        access = default_state() / "access.json"
    if not isinstance(access, Access):
        access = read_access(Path(access).expanduser(), "client")
    return _Connecting(access, timeout_seconds)
