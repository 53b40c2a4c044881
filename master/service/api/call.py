"""A client's request to a running master, as a handler sees it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from bats.common.messages import MachineId
from bats.master.queries.question import Body, Question
from bats.master.service.bags.queue import Bags
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.fleet import Fleet
from bats.master.service.options import Options
from bats.master.store.blobs import Blobs
from bats.master.store.store import Store


class Service(Protocol):
    """The master, as far as handlers need it."""

    options: Options
    store: Store
    bags: Bags
    fleet: Fleet
    blobs: Blobs

    async def committed(self) -> None: ...

    def waiting(self, machine: MachineId) -> tuple[str, str, str]: ...

    def snapshot(self) -> Body: ...

    def shut_down(self, reason: str) -> None: ...


class Call(Question):
    """A question that may also change something."""

    def __init__(
        self,
        service: Service,
        body: Mapping[str, Any],
        part: Callable[[Body], Awaitable[None]],
    ) -> None:
        super().__init__(lambda: service.store.reader(), service, body, part)  # noqa: PLW0108
        self.service = service

    async def runner(self) -> Runner:
        return await self.service.bags.load(await self.bag())
