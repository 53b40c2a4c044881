"""Looking at bags that no master serves: the same questions, answered from the store on disk."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bats.common.errors import UnreachableError

if TYPE_CHECKING:
    from bats.master.store.reader import Reader

Body = dict[str, Any]


class Archive:
    """A store asked like a `Client`; it refuses what would change a bag or needs its engine."""

    def __init__(self, state: Path, why: UnreachableError) -> None:
        self._state = state
        self._why = why

    async def ask(self, verb: str, **body: Any) -> Body:
        return await self._answer(verb, body, [])

    async def stream(self, verb: str, **body: Any) -> AsyncIterator[Body]:
        parts: list[Body] = []
        await self._answer(verb, body, parts)
        for part in parts:
            yield part

    async def _answer(self, verb: str, body: Body, parts: list[Body]) -> Body:
        from bats.master.queries.by_verb import OF_A_MASTER, QUERIES
        from bats.master.queries.question import Question

        if verb not in QUERIES or verb in OF_A_MASTER:
            raise self._why

        async def part(piece: Mapping[str, Any]) -> None:
            parts.append(dict(piece))

        answer = dict(await QUERIES[verb](Question(self._open, None, body, part)))
        if verb in {"bags", "status"}:
            for bag in answer.get("bags", [answer]):
                if bag["state"] in {"queued", "running"}:
                    bag["unserved_since"] = self._last_written()
        return answer

    def _last_written(self) -> float:
        """The time of the last that a master wrote here."""
        files = (self._state / name for name in ("store.db", "store.db-wal"))
        return max(file.stat().st_mtime for file in files if file.exists())

    def _open(self) -> "Reader":
        from bats.master.store.reader import Reader

        return Reader(self._state)
