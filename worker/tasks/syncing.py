"""Files put on the disk before anybody is told that they lie there, many at a time.

While some are being synced others gather, so that a slow disk makes larger batches, not a queue.
"""

import asyncio
import ctypes
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

_MANY: Final = 8  # files; beyond that one call for all of their file system is sooner done


class Syncing:
    """`add` files, and what to call then, with the error if they could not be synced."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[list[Path], Callable[[OSError | None], None]]] = []
        self._busy = False

    def add(self, files: list[Path], then: Callable[[OSError | None], None]) -> None:
        self._waiting.append((files, then))
        if not self._busy:
            self._next()

    def _next(self) -> None:
        batch, self._waiting = self._waiting, []
        self._busy = True
        files = [file for some, _ in batch for file in some]

        def done(future: "asyncio.Future[None]") -> None:
            self._busy = False
            if self._waiting:
                self._next()
            error = future.exception()
            for _, then in batch:
                then(error if isinstance(error, OSError) else None)

        self._loop.run_in_executor(None, sync, files).add_done_callback(done)


def sync(files: Iterable[Path]) -> None:
    """Put files and their names on the disk. Raises OSError."""
    files = list(files)
    folders = {file.parent for file in files}
    if len(files) <= _MANY:
        for path in (*files, *folders):
            _with(path, os.fsync)
    else:
        for folder in folders:
            _with(folder, _sync_file_system)


def _with(path: Path, call: Callable[[int], object]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        call(descriptor)
    finally:
        os.close(descriptor)


def _sync_file_system(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syncfs(descriptor):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
