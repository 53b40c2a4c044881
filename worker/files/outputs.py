"""Files that tasks leave: collected when an attempt is done, kept until the master has them."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError
from bats.common.messages import BlobChunk, BlobStored, WantBlob
from bats.common.wire.codec import CHUNK_BYTES
from bats.worker.files.library import Library

Collected = tuple[tuple[str, str, int], ...]  # name, sha256, bytes
NONE: Final[Collected] = ()
STDOUT: Final = "stdout"
STDERR: Final = "stderr"
_KEEP_SECONDS: Final = 3600.0  # what nobody asks for belongs to an attempt that did not win


class Outputs:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._kept: dict[str, float] = {}  # sha256: since when, or last asked for
        self._asked: set[str] = set()

    @property
    def under_way(self) -> bool:
        """The master has begun to fetch something and does not have it all."""
        return bool(self._asked)

    def keep(self, name: str, pieces: Iterable[bytes]) -> Collected:
        """Something that is no file of the task's, such as its stdout."""
        sha256, size = self._library.put(pieces)
        self._kept[sha256] = time.monotonic()
        return ((name, sha256, size),)

    def collect(self, folder: str, patterns: Sequence[str], *, move: bool) -> Collected:
        """Keep all matching files of the folder. May take long: runs in a thread.

        Raises OSError, and UsageError for a name that no message can carry.
        """
        found = {}
        for pattern in patterns:
            for path in Path(folder).glob(pattern):
                for file in _files(Path(folder), path):
                    found[str(file.relative_to(folder))] = file
        collected = []
        for name, file in sorted(found.items()):
            _check_name(name)
            sha256, size = self._library.take(file, move=move)
            self._kept[sha256] = time.monotonic()
            collected.append((name, sha256, size))
        return tuple(collected)

    def on_want(self, want: WantBlob) -> BlobChunk | BlobStored:
        """The answer to it."""
        piece = self._library.read(want.sha256, want.offset, CHUNK_BYTES)
        if piece is None:
            return BlobStored(want.sha256, 0)
        self._kept[want.sha256] = time.monotonic()
        self._asked.add(want.sha256)
        return BlobChunk(want.sha256, want.offset, piece[1], piece[0])

    def on_stored(self, stored: BlobStored) -> None:
        """The master has it: it need not be here any more."""
        self._asked.discard(stored.sha256)
        if self._kept.pop(stored.sha256, None) is not None:
            self._library.drop(stored.sha256)

    def clean(self, awaited: Callable[[], Collection[str]]) -> None:
        """Forget what nobody asks for, unless the result that it belongs to is still unstored."""
        limit = time.monotonic() - _KEEP_SECONDS
        if old := [sha for sha, since in self._kept.items() if since < limit]:
            still = awaited()
            for sha256 in [sha for sha in old if sha not in still]:
                self.on_stored(BlobStored(sha256, 0))


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the name {os.fsencode(name)!r} is not UTF-8") from None


def _files(folder: Path, path: Path) -> Iterable[Path]:
    """The file itself, or all files below; links that lead out are not followed."""
    inside = os.path.realpath(folder)
    below = path.rglob("*") if path.is_dir() else [path]
    for file in below:
        if file.is_file() and os.path.realpath(file).startswith(inside + os.sep):
            yield file
