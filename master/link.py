"""A client's end of the wire: asks the master, and says in a sentence when it cannot be reached."""

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import zmq
import zmq.asyncio
from zmq.utils.monitor import parse_monitor_message

from bats.common.errors import BatsError, CannotBeMetError, UnreachableError, UsageError
from bats.common.messages import BlobChunk, BlobStored, Chunk, Refused, Reply, Request
from bats.common.release import release
from bats.common.wire.codec import CHUNK_BYTES, ProtocolError, decode, encode
from bats.common.wire.keys import Access
from bats.common.wire.sockets import set_up_client

Body = dict[str, Any]

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 60.0
_TELLING_SECONDS: Final = 0.3  # an address that is refused gets so long to come up after all
_TRIES: Final = 5
_WATCHED: Final = (
    zmq.Event.HANDSHAKE_SUCCEEDED
    | zmq.Event.HANDSHAKE_FAILED_AUTH
    | zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.CONNECT_RETRIED
    | zmq.Event.DISCONNECTED
)


class MasterError(BatsError):
    """The master could not do what was asked; the words and the exit code are its own."""

    def __init__(self, words: str, exit_code: int) -> None:
        super().__init__(words)
        self.exit_code = exit_code  # type: ignore[misc]


class Link:
    """One connection; any number of questions at a time."""

    def __init__(
        self, context: zmq.asyncio.Context, access: Access, address: str, back_seconds: float
    ) -> None:
        self.address = address
        self._back_seconds = back_seconds  # for a connection that broke to be there again
        self._release = release()
        self._numbers = itertools.count(1)
        self._files: dict[str, asyncio.Queue[BlobStored]] = {}
        self._open: dict[int, asyncio.Queue[Chunk | Reply | BatsError]] = {}
        self._socket = context.socket(zmq.DEALER)
        set_up_client(self._socket, access.pair, access.server_key)
        self._monitor = self._socket.get_monitor_socket(_WATCHED)
        self._hearing: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._socket.connect(address)

    async def ask(self, verb: str, *, timeout_seconds: float = ANSWER_SECONDS, **body: Any) -> Body:
        """The answer. Raises what the master says is wrong, UnreachableError if it says nothing."""
        answer: Body = {}
        async for part, last in self._conversation(verb, body, timeout_seconds):
            if last:
                answer = part
        return answer

    async def stream(
        self, verb: str, *, timeout_seconds: float = ANSWER_SECONDS, **body: Any
    ) -> AsyncIterator[Body]:
        """The parts of a long answer; each may take so long."""
        async for part, last in self._conversation(verb, body, timeout_seconds):
            if not last:
                yield part

    async def _conversation(
        self, verb: str, body: Body, timeout_seconds: float
    ) -> AsyncIterator[tuple[Body, bool]]:
        number = next(self._numbers)
        heard = self._open[number] = asyncio.Queue()
        try:
            await self._send(encode(Request(number, verb, body, self._release)))
            while True:
                async with asyncio.timeout(timeout_seconds):
                    message = await heard.get()
                if isinstance(message, BatsError):
                    raise message
                if isinstance(message, Reply):
                    if message.error:
                        raise _error(message)
                    yield message.body, True
                    return
                yield message.body, False
        except TimeoutError:
            raise UnreachableError(
                f"The master at {self.address} did not answer `{verb}` in {timeout_seconds:g} s."
            ) from None
        finally:
            del self._open[number]

    async def _send(self, frame: bytes) -> None:
        """Send what only waits when nobody is connected. Raises UnreachableError if that lasts."""
        try:
            async with asyncio.timeout(self._back_seconds):
                await self._socket.send(frame)
        except TimeoutError:
            raise self._gone() from None

    def _gone(self) -> UnreachableError:
        return UnreachableError(f"The master at {self.address} has gone.")

    async def send_file(self, path: Path) -> tuple[str, int]:
        """Put a file's content where tasks can have it; its SHA-256 and size.

        Goes on with what is there already; other questions may be asked meanwhile.
        """
        sha256, total = await asyncio.to_thread(_digest, path)
        heard = self._files[sha256] = asyncio.Queue()
        held, data, refused = 0, b"", 0
        try:
            with path.open("rb") as file:
                for _ in range(2 * total // CHUNK_BYTES + _TRIES):
                    frame = encode(BlobChunk(sha256, held, total, data))
                    await self._send(frame)
                    async with asyncio.timeout(ANSWER_SECONDS):
                        before, held = held, (await heard.get()).offset
                    refused = refused + 1 if data and held <= before else 0
                    if refused >= _TRIES:
                        raise UsageError(f"The master cannot take {path}: see `bats status`.")
                    if held >= total and (data or held):
                        return sha256, total
                    file.seek(held)
                    data = file.read(CHUNK_BYTES)
                    if not data and not total:
                        return sha256, total
        except TimeoutError:
            raise UnreachableError(f"The master did not take {path}.") from None
        finally:
            del self._files[sha256]
        raise UsageError(f"{path} changed while it was sent; send it again.")

    # --- the connection ---

    async def up(self, seconds: float) -> str:
        """The reason why the master has not let us in; empty if it has."""
        why, there = f"does not answer within {seconds:g} s", False
        limit = seconds
        loop = asyncio.get_running_loop()
        began = loop.time()
        while (left := began + limit - loop.time()) > 0:
            try:
                async with asyncio.timeout(left):
                    event = parse_monitor_message(await self._monitor.recv_multipart())["event"]
            except TimeoutError:
                break
            if event == zmq.Event.HANDSHAKE_SUCCEEDED:
                self._hearing = asyncio.create_task(self._hear())
                self._watching = asyncio.create_task(self._watch())
                return ""
            if event == zmq.Event.HANDSHAKE_FAILED_AUTH:
                return "does not know the key in this access file"
            if event == zmq.Event.CONNECT_RETRIED and not there:
                why, limit = "is not there: nothing listens", min(limit, _TELLING_SECONDS)
            elif event == zmq.Event.DISCONNECTED:
                there = True
                why = "hangs up: the access file is perhaps another master's"
        return why

    def close(self) -> None:
        for task in (self._hearing, self._watching):
            if task:
                task.cancel()
        self._socket.disable_monitor()
        self._socket.close(200)

    async def _watch(self) -> None:
        """Watch the connection: what is asked when it breaks is not answered on the next one."""
        while True:
            event = parse_monitor_message(await self._monitor.recv_multipart())["event"]
            if event == zmq.Event.DISCONNECTED:
                self._tell_all(self._gone())

    async def _hear(self) -> None:
        while True:
            frame = await self._socket.recv()
            try:
                message = decode(frame)
            except ProtocolError as error:
                self._tell_all(error)
                continue
            if isinstance(message, Chunk | Reply):
                if waiting := self._open.get(message.id):
                    waiting.put_nowait(message)
            elif isinstance(message, BlobStored):
                if sending := self._files.get(message.sha256):
                    sending.put_nowait(message)
            elif isinstance(message, Refused):
                self._tell_all(UnreachableError(f"The master refused: {message.reason}."))

    def _tell_all(self, error: BatsError) -> None:
        for waiting in self._open.values():
            waiting.put_nowait(error)


@asynccontextmanager
async def link(access: Access, *, timeout_seconds: float = CONNECT_SECONDS) -> AsyncIterator[Link]:
    """A connection to the master, by whichever of its addresses answers first in turn."""
    context = zmq.asyncio.Context()
    found: Link | None = None
    reasons = []
    try:
        for address in access.master:
            found = Link(context, access, address, timeout_seconds)
            why = await found.up(timeout_seconds)
            if not why:
                break
            reasons.append(f"The master at {address} {why}.")
            found.close()
            found = None
        if found is None:
            raise UnreachableError(
                f"{' '.join(reasons)} Start it with `bats master`, or name its access file with"
                " `--access`."
            )
        yield found
    finally:
        if found is not None:
            found.close()
        context.destroy(200)


def _digest(path: Path) -> tuple[str, int]:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
    except OSError as error:
        raise UsageError(f"The input {path} cannot be read: {error.strerror}.") from None


def _error(reply: Reply) -> BatsError:
    for kind in (UsageError, CannotBeMetError, UnreachableError):
        if kind.exit_code == reply.exit_code:
            return kind(reply.error)
    return MasterError(reply.error, reply.exit_code)
