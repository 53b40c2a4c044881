"""Files by their content: inputs and outputs, each kept once under its SHA-256."""

import contextlib
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bats.common.errors import BatsError, UsageError
from bats.master.store.database import sync

FOLDER: Final = "blobs"
_KEPT_SECONDS: Final = 24 * 3600.0  # a part, for who goes on sending it
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")


def is_sha256(text: str) -> bool:
    return _SHA256.match(text) is not None


class DamagedBlobError(BatsError):
    """A content is not what its name says; it has been forgotten: ask for it again."""


class Blobs:
    """Waits for the disk: call it from a thread. One caller at a time receives a content."""

    def __init__(self, state_folder: Path) -> None:
        self._folder = self.folder = state_folder / FOLDER
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        """The path of this content, there or not. Hand it out for reading only."""
        if not _SHA256.match(sha256):
            raise UsageError(f"{sha256[:80]!r} is no SHA-256: 64 digits 0-9a-f are needed.")
        return self._folder / sha256[:2] / sha256[2:]

    def has(self, sha256: str) -> bool:
        return self.path(sha256).exists()

    def received(self, sha256: str) -> int:
        """The number of bytes that are there of a content on its way: send from this offset on."""
        part = self._part(sha256)
        return part.stat().st_size if part.exists() else 0

    def receive(self, sha256: str, offset: int, total: int, data: bytes) -> int:
        """Add a piece. Returns how many bytes are there; `total`: all, checked, on the disk.

        A piece that does not continue what is there changes nothing; but if we were killed when all
        was there and not checked yet, any piece has that done.
        Raises DamagedBlobError when all is there and it is another content.
        """
        if self.has(sha256):
            return total
        held, part = self.received(sha256), self._part(sha256)
        if offset == held and held + len(data) <= total:
            part.parent.mkdir(mode=0o700, exist_ok=True)
            with part.open("ab") as file:
                file.write(data)
            held += len(data)
        if held == total:
            if digest(part) != sha256:
                part.unlink()
                raise DamagedBlobError(
                    f"What was sent as {sha256} is another content ({total} bytes); send it again."
                )
            self._keep(part, sha256)
        return held

    def add(self, source: Path) -> str:
        """Copy a file in; returns its SHA-256."""
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as copy:
            arriving = Path(copy.name)
        try:
            shutil.copyfile(source, arriving)
            sha256 = digest(arriving)  # of the copy: the source may be changing
            if not self.has(sha256):
                self._keep(arriving, sha256)
        finally:
            arriving.unlink(missing_ok=True)
        return sha256

    def read(self, sha256: str, offset: int, size: int) -> tuple[bytes, int]:
        """A piece to send on, and the total size. Raises UsageError if it is not there."""
        try:
            with self.path(sha256).open("rb") as file:
                file.seek(offset)
                return file.read(size), self.path(sha256).stat().st_size
        except FileNotFoundError as error:
            raise UsageError(f"The content {sha256} is not in the store.") from error

    def forget(self, sha256s: Iterable[str]) -> None:
        """Delete contents nobody holds, as `prune` names them."""
        for sha256 in sha256s:
            self.path(sha256).unlink(missing_ok=True)
            self._part(sha256).unlink(missing_ok=True)

    def drop_part(self, sha256: str) -> None:
        """Delete what came of a content that nobody waits for any more."""
        self._part(sha256).unlink(missing_ok=True)

    def drop_leftovers(self, seconds: float = _KEPT_SECONDS) -> int:
        """Delete what never became whole, and was not touched for so long; the bytes of it."""
        oldest, freed = time.time() - seconds, 0
        for pattern in ("*/*.part", "tmp*"):
            for left in self._folder.glob(pattern):
                with contextlib.suppress(OSError):  # it has just become whole
                    seen = left.stat()
                    if seen.st_mtime < oldest:
                        left.unlink()
                        freed += seen.st_size
        return freed

    def _part(self, sha256: str) -> Path:
        return self.path(sha256).with_suffix(".part")

    def _keep(self, file: Path, sha256: str) -> None:
        """Keep a file under its name, where it is whole: synced first, then named."""
        path = self.path(sha256)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        sync(file)
        file.chmod(0o400)
        file.rename(path)
        sync(path.parent)
        sync(self._folder)  # the name of that folder, which may be new


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
