"""The master's disk: full or broken at times; after a power cut it has what was synced.

Only files below the folders that are watched are judged: contents and what tasks left. The
database is SQLite's, whose commits are held to be what they say.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


class Disk:
    def __init__(self) -> None:
        self.trouble = 0  # the errno that writes meet now; 0: none
        self.watched: list[Path] = []
        self._synced: dict[int, tuple[int, int]] = {}  # inode: size and time of change
        self._names: dict[str, set[str]] = {}  # folder: the names in it that are on the disk
        self._fsync = os.fsync

    def fsync(self, descriptor: int) -> None:
        """In place of `os.fsync`, which would cost time and prove nothing here."""
        path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
        if os.path.isdir(path):  # noqa: PTH112
            self.folder_synced(path, os.listdir(path))  # noqa: PTH208
        else:
            seen = os.fstat(descriptor)
            self.file_synced(seen.st_ino, seen.st_size, seen.st_mtime_ns)

    def folder_synced(self, path: str, names: Iterable[str]) -> None:
        self._names[path] = set(names)

    def file_synced(self, inode: int, size: int, changed_ns: int) -> None:
        self._synced[inode] = size, changed_ns

    def write(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, which writes, as it goes on this disk."""

        def tried(*args: Any, **more: Any) -> Any:
            if self.trouble:
                raise OSError(self.trouble, os.strerror(self.trouble))
            return call(*args, **more)

        return tried

    def commit(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """A write of the database, which says in its own words that there is no room."""

        def tried(*args: Any) -> Any:
            if self.trouble == FULL:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return call(*args)

        return tried

    def power_cut(self) -> int:
        """Forget what was not synced; how many files that were."""
        return sum(self._forget(folder) for folder in self.watched if folder.is_dir())

    def _forget(self, folder: Path) -> int:
        known = self._names.get(str(folder), set())
        lost = 0
        for path in list(folder.iterdir()):
            if path.is_dir():
                if path.name not in known:
                    lost += _remove(path)
                else:
                    lost += self._forget(path)
                continue
            seen = path.stat()
            if path.name not in known:
                path.unlink()
                lost += 1
            elif self._synced.get(seen.st_ino) != (seen.st_size, seen.st_mtime_ns):
                path.chmod(0o600)
                os.truncate(path, seen.st_size // 2)
                lost += 1
        return lost


def _remove(folder: Path) -> int:
    files: Iterable[Path] = [path for path in folder.rglob("*") if path.is_file()]
    count = 0
    for path in files:
        path.unlink()
        count += 1
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir()
    folder.rmdir()
    return count


FULL = errno.ENOSPC
BROKEN = errno.EIO
