"""A client's request to a running master, as a handler sees it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from bats.common.messages import MachineId
from bats.master.api import replies
from bats.master.queries.question import Question
from bats.master.service.bags.queue import Bags
from bats.master.service.bags.runner import Runner
from bats.master.service.machines.fleet import Fleet
from bats.master.service.options import Options
from bats.master.service.wire.hand_keys import HandKey, HandKeys
from bats.master.store.blobs import Blobs
from bats.master.store.store import Store


class Service(Protocol):
    """The master, as far as handlers need it."""

    options: Options
    store: Store
    bags: Bags
    fleet: Fleet
    blobs: Blobs
    hand_keys: HandKeys

    @property
    def trouble(self) -> str: ...

    async def committed(self) -> None: ...

    def waiting(self, machine: MachineId) -> tuple[str, str, str]: ...

    def snapshot(self) -> replies.Snapshot: ...

    def is_there(self, machine: MachineId) -> bool: ...

    def lock_out(self, named: str) -> HandKey: ...

    def users(self) -> Sequence[str]: ...

    def invite(self, user: str) -> Path: ...

    def dismiss(self, user: str) -> None: ...

    def shut_down(self, reason: str) -> None: ...


class Call(Question):
    """A question that may also change something."""

    def __init__(
        self,
        service: Service,
        body: Mapping[str, Any],
        part: Callable[[Mapping[str, Any]], Awaitable[None]],
        user: str = "",
    ) -> None:
        reader = lambda: service.store.reader()  # noqa: E731, PLW0108
        super().__init__(reader, service, body, part, user)
        self.service = service

    async def runner(self, wanted: int | str) -> Runner:
        return await self.service.bags.load(await self.bag(wanted))
