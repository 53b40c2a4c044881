"""Files that tasks need: fetched once per machine, linked into each attempt's scratch folder."""

from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Final

import structlog

from bats.common.messages import BagSpec, BlobChunk, BlobStored, WantBlob
from bats.common.wire.transfer import Download
from bats.worker.files.library import Library

_AT_A_TIME: Final = 3  # files on their way

log = structlog.get_logger()


class Inputs:
    """`ready` is called with each kit whose files are all there."""

    def __init__(
        self,
        library: Library,
        say: Callable[[WantBlob | BlobStored], None],
        ready: Callable[[int], None],
    ) -> None:
        self._library = library
        self._say = say
        self._ready = ready
        self._missing: dict[int, dict[str, int]] = {}  # sha256: size
        self._coming: dict[str, Download] = {}

    def need(self, kit: int, spec: BagSpec) -> bool:
        """True if all that tasks with this kit need is there; what is missing gets fetched."""
        missing = {sha: size for _, sha, size, _ in spec.inputs if not self._library.has(sha)}
        if not missing:
            self._missing.pop(kit, None)
            return True
        self._missing[kit] = missing
        return False

    def ask(self, now: float) -> None:
        """Want what is to be wanted now; called after anything changed, and now and then."""
        for sha in [sha for sha, download in self._coming.items() if download.complete]:
            self._finish(sha)
        wanted = {sha: size for kit in self._missing.values() for sha, size in kit.items()}
        for gone in self._coming.keys() - wanted.keys():
            del self._coming[gone]
        for sha, size in wanted.items():
            if sha not in self._coming and len(self._coming) < _AT_A_TIME:
                self._coming[sha] = Download(size, min(size, self._library.held(sha)))
        for sha, download in self._coming.items():
            for offset in download.ask(now):
                self._say(WantBlob(sha, offset))
        if any(download.complete for download in self._coming.values()):  # all of it was here
            self.ask(now)

    def again(self) -> None:
        """A new connection: what was asked for is not on its way any more."""
        for download in self._coming.values():
            download.again()

    def on_chunk(self, chunk: BlobChunk, now: float) -> None:
        download = self._coming.get(chunk.sha256)
        if download is None or chunk.offset != download.held:
            return
        if chunk.total != download.total:
            log.warning("a file is not as announced", sha256=chunk.sha256, bytes=chunk.total)
            return
        try:
            download.took(self._library.add(chunk.sha256, chunk.data), now)
        except OSError as error:
            self.give_up(chunk.sha256, error.strerror or "disk error")
            return
        self.ask(now)

    def give_up(self, sha: str, why: str) -> None:
        """Give up a file that cannot be had: tasks that need it will say so when started."""
        log.error("a file cannot be fetched", sha256=sha, reason=why)
        for kit, missing in list(self._missing.items()):
            if sha in missing:
                del self._missing[kit]
                self._ready(kit)

    def _finish(self, sha: str) -> None:
        download = self._coming.pop(sha)
        if not self._library.complete(sha):
            if download.total == 0:  # nothing could be asked for again
                self.give_up(sha, "its announced size is wrong")
            log.warning("a file arrived damaged, asked for again", sha256=sha)
            return
        for kit, missing in list(self._missing.items()):
            if missing.pop(sha, None) is not None:
                self._say(BlobStored(sha, self._library.path(sha).stat().st_size))
            if not missing:
                del self._missing[kit]
                self._ready(kit)


class Layout:
    """The places of a bag's inputs in a scratch folder."""

    def __init__(self, inputs: Iterable[tuple[str, str, int, int]], library: Library) -> None:
        self._files = [(name, sha, bool(mode & 0o111)) for name, sha, _, mode in inputs]
        self._library = library
        parents = {str(PurePosixPath(name).parent) for name, _, _ in self._files} - {"."}
        self._folders = sorted(parents)
        self.broken = next((n for n, _, _ in self._files if not _stays_inside(n)), None)

    def place(self, scratch: str) -> str | None:
        """Put all inputs into the folder; the name of one that must be fetched again, if any."""
        for folder in self._folders:
            Path(scratch, folder).mkdir(parents=True, exist_ok=True)
        for name, sha, executable in self._files:
            if not self._library.place(sha, f"{scratch}/{name}", executable=executable):
                return name
        return None

    def withdraw(self, scratch: str) -> None:
        """Take away the links again that a task has left as they were."""
        for name, sha, executable in self._files:
            self._library.withdraw(sha, f"{scratch}/{name}", executable=executable)


def _stays_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not PurePosixPath(name).is_absolute() and ".." not in parts
