"""Looking at bags that no master serves: the same questions, answered from the store on disk."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

from bats.common.errors import UnreachableError

if TYPE_CHECKING:
    from bats.master.store.reader import Reader

_LOOKS: Final = frozenset(
    {"bags", "status", "machines", "decisions", "tasks", "task", "results", "log", "export"}
)

Body = dict[str, Any]


class Archive:
    """A store asked like a `Client`; it refuses what would change a bag or needs its engine."""

    def __init__(self, state: Path, why: UnreachableError) -> None:
        self._why = why
        # Handlers look at no more of a master: its store, and that it has no bag at work.
        self._service = SimpleNamespace(
            store=_Books(state),
            bags=SimpleNamespace(known={}, loaded={}, running=None),
        )

    async def ask(self, verb: str, **body: Any) -> Body:
        return await self._answer(verb, body, _nothing)

    async def stream(self, verb: str, **body: Any) -> AsyncIterator[Body]:
        parts: list[Body] = []

        async def part(piece: Body) -> None:
            parts.append(piece)

        await self._answer(verb, body, part)
        for piece in parts:
            yield piece

    async def _answer(self, verb: str, body: Body, part: Callable[[Body], Awaitable[None]]) -> Body:
        from bats.master.service.api.requests import VERBS, Call, Service

        if verb not in _LOOKS:
            raise self._why
        return await VERBS[verb](Call(cast("Service", self._service), body, part))


class _Books:
    """A store that nobody writes to."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def reader(self) -> "Reader":
        from bats.master.store.reader import Reader

        return Reader(self._state)

    async def committed(self) -> None:
        """All that was told is there."""


async def _nothing(_: Body) -> None:
    pass
