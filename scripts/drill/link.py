"""A TCP proxy between workers and master, whose connections can be cut, held and slowed."""

import asyncio
import random
from contextlib import suppress

_PIECE_BYTES = 16_384


class Link:
    """Listens where workers think the master is; the master is at the same port elsewhere."""

    def __init__(self, listen: str, master: str, port: int) -> None:
        self._listen = listen
        self._master = master
        self._port = port
        self._flows: asyncio.Event = asyncio.Event()
        self._flows.set()
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.refuses = False
        self.delay_seconds = 0.0  # of each piece

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, self._listen, self._port)

    async def close(self) -> None:
        self.heal()
        if self._server:
            self._server.close()
        self.cut()
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    # --- what can be done to it -------------------------------------------------------------------

    def heal(self) -> None:
        self.refuses = False
        self.delay_seconds = 0.0
        self._flows.set()

    def hold(self) -> None:
        """Nothing passes, and nobody is told: as when a cable is out."""
        self._flows.clear()

    def cut(self, chance: random.Random | None = None) -> int:
        """Reset all connections, or each with a chance of a half; how many that were."""
        cut = 0
        for pair in list(self._pairs):
            if chance is None or chance.random() < 0.5:
                cut += 1
                for writer in pair:
                    writer.transport.abort()
        return cut

    # --- passing on -------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        if self.refuses:
            writer.transport.abort()
            return
        try:
            to_reader, to_writer = await asyncio.open_connection(self._master, self._port)
        except OSError:  # no master there
            writer.transport.abort()
            return
        pair = (writer, to_writer)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._pass(reader, to_writer), self._pass(to_reader, writer))
        finally:
            self._pairs.discard(pair)
            for one in pair:
                one.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(_PIECE_BYTES):
                await self._flows.wait()
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                writer.write(piece)
                await writer.drain()
        writer.transport.abort()
