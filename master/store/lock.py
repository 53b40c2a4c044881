"""One master per state folder."""

import contextlib
import fcntl
import os
import socket
from pathlib import Path
from typing import Final, Self

from bats.common.errors import UsageError

FILE: Final = "lock"


class FolderInUseError(UsageError):
    """Somebody holds it: `holder` says who."""

    def __init__(self, folder: Path, holder: str) -> None:
        self.holder = holder or "unknown process"
        super().__init__(
            f"Another master ({self.holder}) is using {folder}. "
            "Stop it first, or give this one another state folder."
        )


class FolderLock:
    """Held until `release()` or the end of this process, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 200, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise FolderInUseError(folder, holder) from error
        holder = f"pid {os.getpid()} on {socket.gethostname()}\n"
        with contextlib.suppress(OSError):  # on a full disk it is locked all the same
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, holder.encode(), 0)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
