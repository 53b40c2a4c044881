"""Files in and out: inputs go to the machines that ask, outputs are fetched where they were made.

All of it lies in the content store first. What a task left is then laid into the bag's output
folder: `<task // 1000>/<task>.out`, `.err`, and the files its `outputs` name below `<task>/`.
"""

import asyncio
import contextlib
import errno
import shutil
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import structlog

from bats.common.errors import BatsError
from bats.common.messages import BlobChunk, BlobStored, MachineId, WantBlob
from bats.common.records import dataclass
from bats.common.wire.codec import CHUNK_BYTES, encode
from bats.common.wire.transfer import Download
from bats.master.service.transfer_times import TransferTimes
from bats.master.service.wire.router import Router
from bats.master.store.blobs import Blobs
from bats.master.store.database import make_folder, sync

_AT_A_TIME: Final = 3  # files on their way from one machine
_MOST_GIVING: Final = 32  # pieces at a time; an honest peer asks for twelve
_MOST_UNTAKEN_BYTES: Final = 8 << 20
_MOST_TAKING: Final = 16
_LOOK_SECONDS: Final = 5.0
_STALLED_SECONDS: Final = 120.0  # a file of which nothing comes for so long is given up
_MOST_DAMAGED: Final = 3  # times that a content may come damaged
_MOST_LAYINGS: Final = 120  # times that a full disk is tried, a look apart
_PASSING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
_MOST_BYTES: Final = 1 << 40

log = structlog.get_logger()

T = TypeVar("T")


class Wanted(NamedTuple):
    """A file that a task left on a machine, and where it is to lie here."""

    sha256: str
    size: int
    target: Path


@dataclass(slots=True, eq=False)
class Parcel:
    """The files that one attempt left. They are laid out together, once all have come.

    One of `done` and `lost` is called, unless the machine goes or nobody wants them any more.
    """

    files: Sequence[Wanted]
    may_lay: Callable[[], bool]  # False: another attempt's files lie there, or are about to
    done: Callable[[], None]  # they lie where they belong, and would after a power cut
    lost: Callable[[str], None]  # why they never will
    missing: int = 0  # contents that are not here


@dataclass(slots=True)
class Arrival:
    """A content on its way."""

    wanted: Wanted
    parcel: Parcel
    download: Download
    moved_at: float  # when something of it last came
    since: float = 0.0  # when it was first asked for
    over_link: int = 0  # bytes of it that its machine sent
    taking: int = 0  # pieces that wait for the disk
    damaged: int = 0
    trouble: str = ""  # what kept the last piece from being taken


@dataclass(slots=True)
class Fetching:
    """The files to be had from one machine."""

    waiting: deque[tuple[Wanted, Parcel]] = field(default_factory=deque)
    coming: dict[str, Arrival] = field(default_factory=dict)
    laying: set[Parcel] = field(default_factory=set)  # all here, being put where they belong
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Files:
    """The disk is touched in one thread of its own, so that pieces stay in order."""

    def __init__(
        self,
        blobs: Blobs,
        router: Router,
        route_of: Callable[[MachineId], bytes | None],
        check_room: Callable[[Path, int], None] = lambda _, __: None,
    ) -> None:
        self._blobs = blobs
        self._router = router
        self._route_of = route_of
        self._check_room = check_room
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "files")
        self.times = TransferTimes()
        self._machines: dict[MachineId, Fetching] = {}
        self._giving: dict[bytes, int] = {}  # pieces being read, for each connection
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking = self._loop.call_later(_LOOK_SECONDS, self._look)

    async def close(self) -> None:
        self._looking.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.shutdown()

    # --- what others ask for or send --------------------------------------------------------------

    def give(self, route: bytes, want: WantBlob) -> bool:
        """Inputs to a machine, outputs to a client: who knows a content's hash may have it.

        False to who asks for more before taking what is on its way: that is asked for again.
        """
        giving = self._giving.get(route, 0)
        if giving >= _MOST_GIVING or self._router.unsent_bytes(route) > _MOST_UNTAKEN_BYTES:
            return False
        self._giving[route] = giving + 1
        self._do(self._give(route, want))
        return True

    async def _give(self, route: bytes, want: WantBlob) -> None:
        try:
            await self._give_piece(route, want)
        finally:
            if (left := self._giving[route] - 1) > 0:
                self._giving[route] = left
            else:
                del self._giving[route]

    async def _give_piece(self, route: bytes, want: WantBlob) -> None:
        try:
            data, total = await self._on_disk(
                self._blobs.read, want.sha256, want.offset, CHUNK_BYTES
            )
            answer: BlobChunk | BlobStored = BlobChunk(want.sha256, want.offset, total, data)
        except BatsError:
            answer = BlobStored(want.sha256, 0)  # it is not here
        self._router.send(route, encode(answer))

    def wanted(self, machine: MachineId, want: WantBlob) -> None:
        """A machine has asked for some of an input; of one that it has in part nothing is told."""
        if not want.offset:
            self.times.wanted(machine, want.sha256, self._loop.time())

    def came(self, machine: MachineId, stored: BlobStored) -> None:
        """An input is on a machine."""
        self.times.came(machine, stored.sha256, stored.offset, self._loop.time())

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

    def take_from_machine(self, machine: MachineId, chunk: BlobChunk) -> bool:
        """A piece that we asked for; anything else is nothing to us, and False."""
        fetching = self._machines.get(machine)
        arrival = fetching.coming.get(chunk.sha256) if fetching is not None else None
        if arrival is None or arrival.taking >= _MOST_TAKING:
            return False
        arrival.taking += 1
        self._do(self._take_from_machine(machine, arrival, chunk))
        return True

    async def _take_from_machine(
        self, machine: MachineId, arrival: Arrival, chunk: BlobChunk
    ) -> None:
        try:
            if not self._is_awaited(machine, arrival):
                return
            held = await self._receive(chunk, arrival.wanted.size)
        except OSError as error:  # as of a full disk: asked for again when we look
            log.warning("an output cannot be taken yet", machine=machine, reason=str(error))
            arrival.trouble = f": {error.strerror or error}"
            arrival.download.again()
            return
        except BatsError as error:
            arrival.damaged += 1
            arrival.trouble = f": {error}"
            arrival.download = Download(arrival.wanted.size)
            if arrival.damaged >= _MOST_DAMAGED:
                self._lose(machine, arrival, f"came damaged {arrival.damaged} times")
            self._ask(machine)
            return
        finally:
            arrival.taking -= 1
        arrival.over_link += len(chunk.data)
        if held > arrival.download.held:
            arrival.moved_at, arrival.trouble = self._loop.time(), ""
        arrival.download.took(held, self._loop.time())
        self._ask(machine)

    def _is_awaited(self, machine: MachineId, arrival: Arrival) -> bool:
        fetching = self._machines.get(machine)
        return fetching is not None and fetching.coming.get(arrival.wanted.sha256) is arrival

    def not_there(self, machine: MachineId, sha256: str) -> None:
        """The machine does not have it any more."""
        fetching = self._machines.get(machine)
        if fetching is not None and (arrival := fetching.coming.get(sha256)) is not None:
            if self._blobs.has(sha256):  # it was asked for once more than it was needed
                arrival.download.took(arrival.wanted.size, self._loop.time())
            else:
                self._lose(machine, arrival, "is not on its machine any more")
            self._ask(machine)

    def held(self, sha256: str, size: int) -> int:
        """The bytes that are here of a content of so many."""
        return size if self._blobs.has(sha256) else self._blobs.received(sha256)

    async def take(self, machine: MachineId, chunk: BlobChunk) -> int:
        """A piece that was read where it lay; how much of the content is here then."""
        held = await self._receive(chunk, chunk.total)
        fetching = self._machines.get(machine)
        if fetching is not None and (arrival := fetching.coming.get(chunk.sha256)) is not None:
            arrival.over_link = 0  # its machine has ended: the wait would count as the link's
            arrival.download.took(held, self._loop.time())
            self._ask(machine)
        return held

    # --- fetching ---------------------------------------------------------------------------------

    def fetch(self, machine: MachineId, parcel: Parcel) -> None:
        """Get these files from the machine, now or when it is there."""
        fetching = self._machines.setdefault(machine, Fetching())
        parcel.missing = len(parcel.files)
        fetching.waiting.extend((wanted, parcel) for wanted in parcel.files)
        self._ask(machine)

    def drop(self, machine: MachineId, parcel: Parcel) -> bool:
        """Nobody wants it any more; False if it is all here and being laid out."""
        fetching = self._machines.get(machine)
        if fetching is None or parcel in fetching.laying:
            return False
        fetching.waiting = deque(one for one in fetching.waiting if one[1] is not parcel)
        for sha256 in [sha for sha, one in fetching.coming.items() if one.parcel is parcel]:
            del fetching.coming[sha256]
            if not any(sha256 in other.coming for other in self._machines.values()):
                self._do(self._drop_part(sha256))
        self._ask(machine)
        return True

    async def _drop_part(self, sha256: str) -> None:
        await self._on_disk(self._blobs.drop_part, sha256)

    def again(self, machine: MachineId) -> None:
        """Ask a machine anew that has a new connection: nothing is on its way any more."""
        if fetching := self._machines.get(machine):
            for arrival in fetching.coming.values():
                arrival.download.again()
            self._ask(machine)

    async def fetched(self, machine: MachineId, seconds: float) -> None:
        """Returns when nothing more is to be had from there, or time is up."""
        if fetching := self._machines.get(machine):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await fetching.done.wait()

    def gone(self, machine: MachineId) -> None:
        if fetching := self._machines.pop(machine, None):
            left = len(fetching.waiting) + len(fetching.coming)
            if left:
                log.warning("files went with a machine", machine=machine, files=left)
            fetching.waiting.clear()
            fetching.coming.clear()
            fetching.done.set()

    def _lose(self, machine: MachineId, arrival: Arrival, why: str) -> None:
        words = f"its output {arrival.wanted.target.name} {why}{arrival.trouble}"
        log.warning("outputs are lost", machine=machine, reason=words)
        self.drop(machine, arrival.parcel)
        arrival.parcel.lost(words)

    def _ask(self, machine: MachineId) -> None:
        fetching, route = self._machines.get(machine), self._route_of(machine)
        if fetching is None:
            return
        now = self._loop.time()
        while fetching.waiting and len(fetching.coming) < _AT_A_TIME:
            wanted, parcel = fetching.waiting.popleft()
            if wanted.sha256 in fetching.coming:
                fetching.waiting.append((wanted, parcel))  # the same content again: later it is
                break
            held = wanted.size
            if held and not self._blobs.has(wanted.sha256):  # one byte at least has it checked
                held = min(held - 1, self._blobs.received(wanted.sha256))
            download = Download(wanted.size, held)
            fetching.coming[wanted.sha256] = Arrival(wanted, parcel, download, now, now)
        for sha256, arrival in list(fetching.coming.items()):
            if arrival.download.complete:
                if arrival.wanted.size == 0 or self._blobs.has(sha256):
                    self._arrived(machine, fetching, arrival)
                else:  # its last piece was taken by nobody
                    arrival.download = Download(arrival.wanted.size)
            elif route is not None:
                for offset in arrival.download.ask(now):
                    self._router.send(route, encode(WantBlob(sha256, offset)))
        if not (fetching.waiting or fetching.coming or fetching.laying):
            del self._machines[machine]
            fetching.done.set()

    def _arrived(self, machine: MachineId, fetching: Fetching, arrival: Arrival) -> None:
        """A content is in the store, and synced there: the machine need not keep it."""
        wanted, parcel = arrival.wanted, arrival.parcel
        del fetching.coming[wanted.sha256]
        if arrival.over_link:
            self.times.left(machine, arrival.over_link, self._loop.time() - arrival.since)
        if wanted.size and (route := self._route_of(machine)):  # 0 would say: not here
            self._router.send(route, encode(BlobStored(wanted.sha256, wanted.size)))
        parcel.missing -= 1
        if not parcel.missing:
            fetching.laying.add(parcel)
            self._do(self._lay_out(machine, fetching, parcel))
        self._loop.call_soon(self._ask, machine)

    async def _lay_out(self, machine: MachineId, fetching: Fetching, parcel: Parcel) -> None:
        """Put them where they belong. A disk that is full may have room again before long."""
        tries = 0
        try:
            if parcel.may_lay():
                while not await self._laid(parcel, last=tries >= _MOST_LAYINGS):
                    tries += 1
                    await asyncio.sleep(_LOOK_SECONDS)
            parcel.done()
        except OSError as error:
            log.warning("outputs cannot be kept", machine=machine, reason=str(error))
            parcel.lost(f"its outputs cannot be kept at the master: {error}")
        finally:
            fetching.laying.discard(parcel)
            self._ask(machine)

    async def _laid(self, parcel: Parcel, *, last: bool) -> bool:
        """False if it may yet work; raises OSError when it will not."""
        try:
            await self._on_disk(self._lay, parcel.files)
        except OSError as error:
            if last or error.errno not in _PASSING:
                raise
            log.warning("outputs cannot be laid out yet", reason=str(error))
            return False
        return True

    def _lay(self, files: Iterable[Wanted]) -> None:
        """Copy contents to where they belong; all is synced, folders made for them too."""
        for wanted in files:
            self._check_room(wanted.target.parent, wanted.size)
            make_folder(wanted.target.parent)
            if wanted.size == 0:
                wanted.target.write_bytes(b"")
                sync(wanted.target)
            else:
                partial = wanted.target.with_name(f".{wanted.target.name[-200:]}.arriving")
                shutil.copyfile(self._blobs.path(wanted.sha256), partial)
                sync(partial)
                partial.replace(wanted.target)
            sync(wanted.target.parent)

    def _look(self) -> None:
        """Ask again for what does not come; give up what does not come for too long."""
        self._looking = self._loop.call_later(_LOOK_SECONDS, self._look)
        now = self._loop.time()
        for machine, fetching in list(self._machines.items()):
            connected = self._route_of(machine) is not None
            for arrival in list(fetching.coming.values()):
                if not connected:
                    arrival.moved_at = now  # whether it is lost is for others to say
                elif now - arrival.moved_at > _STALLED_SECONDS:
                    self._lose(machine, arrival, f"did not come for {_STALLED_SECONDS:g} s")
            self._ask(machine)

    # --- the disk ---------------------------------------------------------------------------------

    async def _receive(self, chunk: BlobChunk, total: int) -> int:
        if chunk.total != total:
            raise BatsError(f"it has {chunk.total} bytes, announced were {total}")
        receive = self._blobs.receive
        self._check_room(self._blobs.folder, len(chunk.data))
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
