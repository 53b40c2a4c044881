"""Files in and out: inputs go to the machines that ask, outputs are fetched where they were made.

All of it lies in the content store first. What a task left is then laid into the bag's output
folder: `<task // 1000>/<task>.out`, `.err`, and the files its `outputs` name below `<task>/`.
"""

import asyncio
import shutil
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import structlog

from bats.common.errors import BatsError
from bats.common.messages import BlobChunk, BlobStored, MachineId, WantBlob
from bats.common.wire.codec import CHUNK_BYTES, encode
from bats.common.wire.transfer import Download
from bats.master.service.wire.router import Router
from bats.master.store.blobs import Blobs

_AT_A_TIME: Final = 3  # files on their way from one machine
_LOOK_SECONDS: Final = 5.0
_MOST_BYTES: Final = 1 << 40

log = structlog.get_logger()

T = TypeVar("T")


class Wanted(NamedTuple):
    """A file that a task left on a machine, and where it is to lie here."""

    sha256: str
    size: int
    target: Path


@dataclass(slots=True)
class Fetching:
    """The files to be had from one machine."""

    waiting: deque[Wanted] = field(default_factory=deque)
    coming: dict[str, tuple[Wanted, Download]] = field(default_factory=dict)
    laying: int = 0  # files that are all here and being put where they belong
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Files:
    """The disk is touched in one thread of its own, so that pieces stay in order."""

    def __init__(
        self, blobs: Blobs, router: Router, route_of: Callable[[MachineId], bytes | None]
    ) -> None:
        self._blobs = blobs
        self._router = router
        self._route_of = route_of
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "files")
        self._machines: dict[MachineId, Fetching] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking = self._loop.call_later(_LOOK_SECONDS, self._look)

    async def close(self) -> None:
        self._looking.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.shutdown()

    # --- what others ask for or send --------------------------------------------------------------

    def give(self, route: bytes, want: WantBlob) -> None:
        """Inputs to a machine, outputs to a client: who knows a content's hash may have it."""
        self._do(self._give(route, want))

    async def _give(self, route: bytes, want: WantBlob) -> None:
        try:
            data, total = await self._on_disk(
                self._blobs.read, want.sha256, want.offset, CHUNK_BYTES
            )
            answer: BlobChunk | BlobStored = BlobChunk(want.sha256, want.offset, total, data)
        except BatsError:
            answer = BlobStored(want.sha256, 0)  # it is not here
        self._router.send(route, encode(answer))

    def take_from_client(self, route: bytes, chunk: BlobChunk) -> None:
        """A piece of an input; answered with how much of it is here."""
        self._do(self._take_from_client(route, chunk))

    async def _take_from_client(self, route: bytes, chunk: BlobChunk) -> None:
        try:
            held = await self._receive(chunk, chunk.total)
        except (BatsError, OSError) as error:
            log.warning("a file from a client is not taken", reason=str(error))
            held = 0
        self._router.send(route, encode(BlobStored(chunk.sha256, held)))

    def take_from_machine(self, machine: MachineId, chunk: BlobChunk) -> None:
        """A piece that we asked for; anything else is nothing to us."""
        fetching = self._machines.get(machine)
        if fetching is not None and chunk.sha256 in fetching.coming:
            self._do(self._take_from_machine(machine, fetching, chunk))

    async def _take_from_machine(
        self, machine: MachineId, fetching: Fetching, chunk: BlobChunk
    ) -> None:
        wanted, download = fetching.coming[chunk.sha256]
        try:
            held = await self._receive(chunk, wanted.size)
            download.took(held, self._loop.time())
        except (BatsError, OSError) as error:
            log.warning("an output is lost", machine=machine, reason=str(error))
            fetching.coming.pop(chunk.sha256, None)
        self._ask(machine)

    def not_there(self, machine: MachineId, sha256: str) -> None:
        """The machine does not have it any more."""
        fetching = self._machines.get(machine)
        if fetching is not None and (entry := fetching.coming.pop(sha256, None)) is not None:
            log.warning("an output is lost", machine=machine, file=str(entry[0].target))
            self._ask(machine)

    # --- fetching ---------------------------------------------------------------------------------

    def fetch(self, machine: MachineId, wanted: Iterable[Wanted]) -> None:
        """Get these files from the machine, now or when it is there."""
        fetching = self._machines.setdefault(machine, Fetching())
        fetching.waiting.extend(one for one in wanted if 0 <= one.size < _MOST_BYTES)
        self._ask(machine)

    def again(self, machine: MachineId) -> None:
        """Ask a machine anew that has a new connection: nothing is on its way any more."""
        if fetching := self._machines.get(machine):
            for _, download in fetching.coming.values():
                download.again()
            self._ask(machine)

    async def fetched(self, machine: MachineId, seconds: float) -> None:
        """Returns when nothing more is to be had from there, or time is up."""
        if fetching := self._machines.get(machine):
            try:
                async with asyncio.timeout(seconds):
                    await fetching.done.wait()
            except TimeoutError:
                left = len(fetching.waiting) + len(fetching.coming)
                log.warning("outputs are left on a machine", machine=machine, files=left)

    def gone(self, machine: MachineId) -> None:
        if fetching := self._machines.pop(machine, None):
            for wanted in [*fetching.waiting, *(one for one, _ in fetching.coming.values())]:
                log.warning("an output is lost", machine=machine, file=str(wanted.target))
            fetching.done.set()

    def _ask(self, machine: MachineId) -> None:
        fetching, route = self._machines.get(machine), self._route_of(machine)
        if fetching is None:
            return
        while fetching.waiting and len(fetching.coming) < _AT_A_TIME:
            wanted = fetching.waiting.popleft()
            if wanted.sha256 in fetching.coming:
                fetching.waiting.append(wanted)  # the same content again: later it is here
                break
            held = wanted.size
            if held and not self._blobs.has(wanted.sha256):  # one byte at least has it checked
                held = min(held - 1, self._blobs.received(wanted.sha256))
            fetching.coming[wanted.sha256] = wanted, Download(wanted.size, held)
        for sha256, (wanted, download) in list(fetching.coming.items()):
            if download.complete and (self._blobs.has(sha256) or wanted.size == 0):
                self._do(self._arrived(machine, fetching, wanted))
            elif route is not None:
                for offset in download.ask(self._loop.time()):
                    self._router.send(route, encode(WantBlob(sha256, offset)))
        if not (fetching.waiting or fetching.coming or fetching.laying):
            del self._machines[machine]
            fetching.done.set()

    async def _arrived(self, machine: MachineId, fetching: Fetching, wanted: Wanted) -> None:
        if fetching.coming.pop(wanted.sha256, None) is None:
            return  # seen already
        fetching.laying += 1
        try:
            await self._on_disk(self._lay, wanted)
        except OSError as error:
            log.warning("an output cannot be kept", file=str(wanted.target), reason=str(error))
        finally:
            fetching.laying -= 1
        if route := self._route_of(machine):
            self._router.send(route, encode(BlobStored(wanted.sha256, wanted.size)))
        self._ask(machine)

    def _lay(self, wanted: Wanted) -> None:
        wanted.target.parent.mkdir(parents=True, exist_ok=True)
        if wanted.size == 0:
            wanted.target.touch()
            return
        partial = wanted.target.with_name(f".{wanted.target.name}.arriving")
        shutil.copyfile(self._blobs.path(wanted.sha256), partial)
        partial.replace(wanted.target)

    def _look(self) -> None:
        """Ask again for what does not come."""
        self._looking = self._loop.call_later(_LOOK_SECONDS, self._look)
        for machine in list(self._machines):
            self._ask(machine)

    # --- the disk ---------------------------------------------------------------------------------

    async def _receive(self, chunk: BlobChunk, total: int) -> int:
        if chunk.total != total:
            raise BatsError(f"it has {chunk.total} bytes, announced were {total}")
        receive = self._blobs.receive
        return await self._on_disk(receive, chunk.sha256, chunk.offset, total, chunk.data)

    async def _on_disk(self, call: Callable[..., T], *arguments: Any) -> T:
        return await self._loop.run_in_executor(self._thread, call, *arguments)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("moving a file failed", exc_info=error)
