"""Results that a machine could not tell before it ended, read where its worker had kept them.

A worker whose lease ends while no master is there ends, too; on a host that stays, its folder does.
"""

import asyncio
from typing import Final

import structlog

from bats.common.messages import BlobChunk, MachineId, Result, Results
from bats.common.wire.codec import CHUNK_BYTES, ProtocolError, decode
from bats.common.wire.outbox_file import read
from bats.deploy.protocol import Remembering
from bats.master.brain.books.taskbook import TaskState
from bats.master.service.bags.collection import UnfitOutputError
from bats.master.service.bags.runner import Runner
from bats.master.service.transfers import Files

_MOST_BYTES: Final = 64 << 20  # of results
_MOST_SECONDS: Final = 60.0  # for which a machine that has ended is kept in the books

log = structlog.get_logger()


class LeftResults:
    """Results of one machine, and the files that belong to them."""

    def __init__(
        self, backend: Remembering, files: Files, runner: Runner, machine: MachineId
    ) -> None:
        self._backend = backend
        self._files = files
        self._runner = runner
        self._machine = machine

    async def bring(self) -> None:
        """Have those counted that the bag waits for, with their files, before it is told gone."""
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                whole = [one for one in await self._awaited() if await self._brought(one)]
                if not whole:
                    return
                log.info("results of a machine that has ended", machine=self._machine, n=len(whole))
                self._runner.machines.announced(self._machine, "it has ended, and left results")
                self._runner.ended_tasks(self._machine, whole)
                await self._files.fetched(self._machine, _MOST_SECONDS)
        except Exception as error:
            log.warning("what a machine left cannot be had", machine=self._machine,
                        reason=str(error) or "no answer")  # fmt: skip

    async def _awaited(self) -> list[Result]:
        """Results that it kept, of attempts whose end it has not told."""
        data = b""
        while len(data) < _MOST_BYTES and (piece := await self._piece("outbox", len(data))):
            data += piece
        contents = read(data)
        found: dict[tuple[int, int], Result] = {}
        for kept in contents.kept if contents else ():
            for one in _results(kept.frame):
                if one.bag == self._runner.id and self._is_awaited(one):
                    found[one.task, one.attempt] = one
        return list(found.values())

    def _is_awaited(self, result: Result) -> bool:
        engine = self._runner.engine
        if engine.task(result.task).state is TaskState.DONE:
            return False  # elsewhere, since it fell silent
        return engine.ordered_at(self._machine, result.task, result.attempt) is not None

    async def _brought(self, result: Result) -> bool:
        """False if something of what its task left is not there any more."""
        try:
            wanted = self._runner.collection.fetchable(result)
        except UnfitOutputError:
            return True  # which the bag says itself
        return all([await self._bring(one.sha256, one.size) for one in wanted])

    async def _bring(self, sha256: str, size: int) -> bool:
        held = self._files.held(sha256, size)
        while held < size:
            piece = await self._piece(f"files/outputs/{sha256}", held)
            if not piece:
                return False
            held = await self._files.take(self._machine, BlobChunk(sha256, held, size, piece))
        return True

    async def _piece(self, name: str, offset: int) -> bytes:
        return await self._backend.left(self._machine, name, offset, CHUNK_BYTES)


def _results(frame: bytes) -> tuple[Result, ...]:
    try:
        message = decode(frame)
    except ProtocolError:
        return ()
    return message.results if isinstance(message, Results) else ()
