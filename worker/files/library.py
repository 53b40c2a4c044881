"""Contents of files on this machine, each kept once under its SHA-256; parts of those that arrive.

A task gets an input of its own: a clone where the file system makes them, else a copy; of a large
file a hard link. A task that writes to that in place would change it for the next, so its hash is
verified anew before each use, unless nothing at all has happened to the file since: of the time of
change, which the kernel keeps, nobody can restore the old one. Our own links change it too, and are
made and taken away under the eyes of the books.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_COPIED_BYTES: Final = 1 << 20  # quicker than what it takes to see to a link
_FICLONE: Final = 0x40049409  # linux/fs.h
_ARRIVING: Final = "arriving-"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class Library:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for partly in folder.glob(f"{_ARRIVING}*"):  # of a daemon that was killed
            partly.unlink()
        self._known: dict[Path, tuple[int, int, int]] = {}  # verified: see `_look`
        self._clones = True  # until the file system says that it makes none

    def path(self, sha256: str, *, executable: bool = False) -> Path:
        """Raises ValueError for what is no SHA-256, lest a name lead elsewhere."""
        if not _SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256[:80]!r} is no SHA-256")
        return self._folder / (f"{sha256}.x" if executable else sha256)

    def has(self, sha256: str) -> bool:
        """Whole and unchanged; what was kept by an earlier daemon is verified now."""
        path = self.path(sha256)
        if self._unchanged(path):
            return True
        if not path.exists():
            return False
        if digest(path) == sha256:
            self._remember(path)
            return True
        self.drop(sha256)
        return False

    def held(self, sha256: str) -> int:
        """Bytes of it that have arrived."""
        with contextlib.suppress(FileNotFoundError):
            return self._part(sha256).stat().st_size
        return 0

    def add(self, sha256: str, data: bytes) -> int:
        """The next piece of what arrives; how many bytes are held then."""
        with self._part(sha256).open("ab") as file:
            file.write(data)
            return file.tell()

    def complete(self, sha256: str) -> bool:
        """All has arrived: whether it is what it should be. If not, none of it is kept."""
        part = self._part(sha256)
        if not part.exists():
            part.touch()  # the empty file
        if digest(part) != sha256:
            part.unlink()
            return False
        part.chmod(0o444)
        part.replace(self.path(sha256))
        self._remember(self.path(sha256))
        return True

    def put(self, pieces: Iterable[bytes]) -> tuple[str, int]:
        """Keep what is in memory or in an open file; its hash and size."""
        checksum, size = hashlib.sha256(), 0
        with self._arriving() as arriving:
            with arriving.open("wb") as file:
                for piece in pieces:
                    checksum.update(piece)
                    size += file.write(piece)
            arriving.replace(self.path(checksum.hexdigest()))
        return checksum.hexdigest(), size

    def take(self, source: Path, *, move: bool) -> tuple[str, int]:
        """Keep a file, by moving it here if it is nobody's any more; its hash and size."""
        with self._arriving() as arriving:
            (shutil.move if move and not source.is_symlink() else shutil.copyfile)(source, arriving)
            sha256, size = digest(arriving), arriving.stat().st_size
            arriving.replace(self.path(sha256))
        return sha256, size

    def read(self, sha256: str, offset: int, size: int) -> tuple[bytes, int] | None:
        """A piece to send, and the total; None if it is not here."""
        try:
            with self.path(sha256).open("rb") as file:
                file.seek(offset)
                return file.read(size), os.fstat(file.fileno()).st_size
        except (FileNotFoundError, ValueError):
            return None

    def place(self, sha256: str, at: str, *, executable: bool) -> bool:
        """Put it there for a task. False if it is not here, or was changed: fetch it again."""
        if not self.has(sha256):
            return False
        path = self.path(sha256)
        if executable:
            plain, path = path, self.path(sha256, executable=True)
            if not self._unchanged(path):
                path.unlink(missing_ok=True)
                shutil.copyfile(plain, path)
                path.chmod(0o555)
                self._remember(path)
        self._give(path, at)
        return True

    def withdraw(self, sha256: str, at: str, *, executable: bool) -> None:
        """Take away a task's link, so that it need not be verified anew for having been there."""
        path = self.path(sha256, executable=executable)
        with contextlib.suppress(OSError):
            if self._unchanged(path) and Path(at).samefile(path):
                Path(at).unlink()
                self._remember(path)

    def _give(self, path: Path, at: str) -> None:
        if self._cloned(path, at):
            return
        if path.stat().st_size > _COPIED_BYTES:
            with contextlib.suppress(OSError):  # too many links, or a file system without
                os.link(path, at)
                self._remember(path)
                return
        shutil.copy(path, at)

    def _cloned(self, path: Path, at: str) -> bool:
        if not self._clones:
            return False
        with path.open("rb") as source, open(at, "xb") as clone:  # noqa: PTH123
            try:
                fcntl.ioctl(clone.fileno(), _FICLONE, source.fileno())
            except OSError:
                self._clones = False
        if not self._clones:
            Path(at).unlink()
            return False
        Path(at).chmod(path.stat().st_mode & 0o777)
        return True

    def drop(self, sha256: str) -> None:
        for path in (self.path(sha256), self.path(sha256, executable=True), self._part(sha256)):
            self._known.pop(path, None)
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _arriving(self) -> Iterator[Path]:
        """A name for what is not whole yet; it takes no space on a full disk afterwards."""
        path = self._folder / f"{_ARRIVING}{os.urandom(8).hex()}"
        try:
            yield path
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _part(self, sha256: str) -> Path:
        return self.path(sha256).with_suffix(".part")

    def _remember(self, path: Path) -> None:
        self._known[path] = _look(path)

    def _unchanged(self, path: Path) -> bool:
        known = self._known.get(path)
        try:
            return known is not None and _look(path) == known
        except FileNotFoundError:
            return False


def _look(path: Path) -> tuple[int, int, int]:
    """Size, and the times of the last writing and of the last change of any kind."""
    seen = path.stat()
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
